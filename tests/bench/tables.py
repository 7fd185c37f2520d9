"""The report as text: Markdown tables of ratios, and sentences on how far they can be trusted. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tests.bench.figures import (
    THROUGHPUT,
    Comparison,
    Metric,
    compare,
    equal_answers,
    median,
    second_to_first,
    ttft_s,
)
from tests.bench.records import Cell, Report

SHARED_PREFIX_WANTED = 0.25
BUSY_FIGURES = ("tokens_per_s", "ttft_p50", "gap_p99")
SPREAD_NOTICED = 0.2
"""A larger spread of the pairs' ratios is called out."""


def shown(comparison: Comparison) -> list[str]:
    """Cells of a table row: clients, server, its median, reference's median, ratio, spread, verdict."""
    metric = comparison.metric
    low, high = min(comparison.ratios), max(comparison.ratios)
    verdict = {None: "", True: "yes", False: "NO"}[comparison.reached]
    return [
        str(comparison.clients),
        comparison.name,
        _number(median(comparison.server), metric),
        _number(median(comparison.reference), metric),
        f"{comparison.ratio:.2f} ({low:.2f}–{high:.2f})",
        str(len(comparison.ratios)),
        verdict,
    ]


def _number(value: float, metric: Metric) -> str:
    return f"{value * metric.scale:.{metric.digits}f}"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table with aligned columns."""
    lines = [list(head), *map(list, rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(head))]
    texts = [
        "| "
        + " | ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True))
        + " |"
        for line in lines
    ]
    texts.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
    return "\n".join(texts)


def servers_of(report: Report) -> list[str]:
    """Names of the servers besides the reference, in order of appearance."""
    names = dict.fromkeys(cell.server for cell in report.cells)
    return [name for name in names if name != report.reference]


def comparisons(report: Report, scenario: str = "throughput") -> list[Comparison]:
    """Every figure of a scenario for every server and number of clients."""
    cells = [cell for cell in report.cells if cell.scenario == scenario]
    counts = sorted({cell.clients for cell in cells})
    found = (
        compare(cells, metric, name, report.reference, clients)
        for metric in THROUGHPUT
        for name in servers_of(report)
        for clients in counts
    )
    return [comparison for comparison in found if comparison is not None]


def render(report: Report) -> str:
    """Return the whole report as Markdown."""
    parts = [_headline(report)]
    every = comparisons(report)
    for metric in THROUGHPUT:
        rows = [shown(c) for c in every if c.metric is metric]
        if rows:
            parts.append(f"**{_title(metric)}**\n\n{table(_head(report), rows)}")
    busy = [c for c in comparisons(report, "busy") if c.metric.key in BUSY_FIGURES]
    if busy:
        rows = [[c.metric.title, *shown(c)[:-1]] for c in busy]
        head = ["", *_head(report)[:-1]]
        parts.append(f"**Beside a program that keeps one core busy**\n\n{table(head, rows)}")
    prefix = _shared_prefix(report)
    if prefix:
        parts.append(prefix)
    parts.append("\n".join(f"- {line}" for line in remarks(report)))
    return "\n\n".join(parts) + "\n"


def _head(report: Report) -> list[str]:
    return ["clients", "server", "its", report.reference, "ratio (min–max)", "pairs", "reached"]


def _title(metric: Metric) -> str:
    better = "more is better" if metric.more_is_better else "less is better"
    if metric.wanted is None:
        return f"{metric.title} ({better})"
    sign = "≥" if metric.more_is_better else "≤"
    return f"{metric.title} ({better}, wanted {sign} {metric.wanted:g} ×)"


def _headline(report: Report) -> str:
    machine, settings = report.machine, report.settings
    versions = ", ".join(f"{name} {version}" for name, version in report.versions.items())
    workload = ", ".join(f"{key} {value}" for key, value in settings.items())
    return (
        f"{machine['processor']}, {machine['cores']} cores, {machine['memory_gib']} GiB, "
        f"{machine['system']}.  \n{versions}.  \nSettings: {workload}."
    )


def _shared_prefix(report: Report) -> str | None:
    cells = [c for c in report.cells if c.scenario == "shared-prefix" and c.problem is None]
    rows = []
    for name in dict.fromkeys(cell.server for cell in cells):
        mine = [cell for cell in cells if cell.server == name]
        ratios = [second_to_first(cell) for cell in mine]
        first, second = (median(ttft_s(cell)[i] * 1e3 for cell in mine) for i in (0, 1))
        reached = "yes" if median(ratios) <= SHARED_PREFIX_WANTED else "NO"
        spread = f"{median(ratios):.2f} ({min(ratios):.2f}–{max(ratios):.2f})"
        rows.append([name, f"{first:.0f}", f"{second:.0f}", spread, str(len(ratios)), reached])
    if not rows:
        return None
    head = ["server", "first TTFT, ms", "second, ms", "second / first (min–max)", "runs", "reached"]
    title = f"Same system prompt twice from one client (wanted ≤ {SHARED_PREFIX_WANTED:g})"
    return f"**{title}**\n\n{table(head, rows)}"


def summary(report: Report) -> str:
    """Return one short table: ratios of every server at every number of clients."""
    every = comparisons(report)
    chosen = [m for m in THROUGHPUT if m.key in {"tokens_per_s", "ttft_p50", "peak_memory"}]
    rows = []
    for name in servers_of(report):
        mine = {(c.clients, c.metric.key): c for c in every if c.name == name}
        for clients in sorted({clients for clients, _ in mine}):
            cells = [mine.get((clients, metric.key)) for metric in chosen]
            rows.append([name, str(clients), *(f"{c.ratio:.2f} ×" if c else "" for c in cells)])
    titles = [metric.title.partition(",")[0] for metric in chosen]
    machine = report.machine
    below = (
        f"Ratios to `{report.reference}`, medians of {report.settings['repetitions']} pairs on "
        f"{machine['processor']}, {machine['cores']} cores, {report.settings['model']}."
    )
    return f"{table(['', 'clients', *titles], rows)}\n\n{below}"


def missed(report: Report, name: str) -> list[str]:
    """What a server was to reach and did not, one sentence each."""
    found = [
        f"{c.metric.title} at {c.clients} clients: {c.ratio:.2f}, wanted {c.metric.wanted:g}"
        for c in comparisons(report)
        if c.name == name and c.reached is False
    ]
    cells = [c for c in report.cells if c.scenario == "shared-prefix" and c.server == name]
    ratios = [second_to_first(cell) for cell in cells if cell.problem is None]
    if ratios and median(ratios) > SHARED_PREFIX_WANTED:
        found.append(f"shared prefix: {median(ratios):.2f}, wanted {SHARED_PREFIX_WANTED:g}")
    found += [f"{c.scenario} at {c.clients}: {c.problem}" for c in report.cells if _broken(c, name)]
    return found


def _broken(cell: Cell, name: str) -> bool:
    return cell.server == name and cell.problem is not None


def remarks(report: Report) -> list[str]:
    """Say how far the figures can be trusted and what is missing."""
    lines = [f"Not measured: {name}: {why}" for name, why in report.not_measured.items()]
    for name in servers_of(report):
        same, compared = equal_answers(report.cells, name, report.reference)
        lines.append(
            f"{name} gave the same text as {report.reference} in {same} of {compared} answers."
        )
    lines += [
        f"Unusable: {c.server}, {c.scenario}, {c.clients} clients, repetition {c.repetition}: {c.problem}"
        for c in report.cells
        if c.problem is not None
    ]
    limit = report.settings["most_foreign_cores"]
    noisy = [c for c in report.cells if c.foreign_cores > limit]
    if noisy:
        worst = max(c.foreign_cores for c in noisy)
        lines.append(
            f"NOISY: in {len(noisy)} of {len(report.cells)} measurements other programs took more than "
            f"{limit:g} cores (up to {worst:.2f})."
        )
    else:
        lines.append(f"Quiet: other programs never took more than {limit:g} cores.")
    wide = [
        f"{c.metric.title} at {c.clients} ({c.name})"
        for c in comparisons(report)
        if len(c.ratios) > 1 and c.spread > SPREAD_NOTICED
    ]
    if wide:
        lines.append(f"Pairs disagree by more than {SPREAD_NOTICED:.0%} in: {', '.join(wide)}.")
    if report.retaken:
        lines.append(
            f"{report.retaken} pairs were thrown away and taken again, the machine was busy."
        )
    idle = {
        c.server: max(x.idle_cores for x in report.cells if x.server == c.server)
        for c in report.cells
    }
    lines += [
        f"{name} used {used:.2f} cores while idle." for name, used in idle.items() if used > 0.1
    ]
    return lines
