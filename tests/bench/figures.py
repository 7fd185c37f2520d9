"""From raw cells to figures and ratios. Pure."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from tests.bench.records import Cell


def percentile(values: Iterable[float], share: float) -> float:
    """Return the value below which `share` (0..1) of the values lie, linearly interpolated.

    Raises:
        ValueError: There are no values, or the share is outside 0..1.
    """
    ordered = sorted(values)
    if not ordered or not 0 <= share <= 1:
        msg = f"percentile {share} of {len(ordered)} values; allowed are 0..1 and at least one"
        raise ValueError(msg)
    place = share * (len(ordered) - 1)
    low = math.floor(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


def median(values: Iterable[float]) -> float:
    """Return the middle value."""
    return percentile(values, 0.5)


def tokens_per_s(cell: Cell) -> float:
    """Answer tokens of all clients per second, prefill included."""
    return sum(request.completion_tokens for request in cell.requests) / cell.wall_s


def ttft_s(cell: Cell) -> list[float]:
    """Seconds from sending a request to its first text, one value a request."""
    return [r.text_times_s[0] - r.start_s for r in cell.requests if r.text_times_s]


def gaps_s(cell: Cell) -> list[float]:
    """Seconds between neighbouring pieces of text of the same answer, all answers together."""
    return [
        later - earlier
        for request in cell.requests
        for earlier, later in zip(request.text_times_s, request.text_times_s[1:], strict=False)
    ]


def cpu_per_token_s(cell: Cell) -> float:
    """CPU seconds of the server per answer token, prefill included."""
    return cell.server_cpu_s / sum(request.completion_tokens for request in cell.requests)


def second_to_first(cell: Cell) -> float:
    """Time to first token of the second request over that of the first (`shared-prefix` cells)."""
    first, second = ttft_s(cell)[:2]
    return second / first


@dataclass(frozen=True, slots=True)
class Metric:
    """A figure of a cell.

    Attributes:
        key: Short name for the JSON summary.
        title: For people.
        scale: The table shows figure × scale.
        more_is_better: Direction.
        wanted: Least (or most) ratio to llama-server the project asks for; None = none.
    """

    key: str
    title: str
    of: Callable[[Cell], float]
    scale: float = 1.0
    digits: int = 1
    more_is_better: bool = False
    wanted: float | None = None


THROUGHPUT = (
    Metric("tokens_per_s", "tokens/s", tokens_per_s, more_is_better=True, wanted=1.0),
    Metric("ttft_p50", "TTFT p50, ms", lambda c: median(ttft_s(c)), 1e3, 0, wanted=1.1),
    Metric("ttft_p90", "TTFT p90, ms", lambda c: percentile(ttft_s(c), 0.9), 1e3, 0),
    Metric("gap_p50", "token gap p50, ms", lambda c: median(gaps_s(c)), 1e3, 1),
    Metric("gap_p99", "token gap p99, ms", lambda c: percentile(gaps_s(c), 0.99), 1e3, 1),
    Metric("peak_memory", "peak memory, MiB", lambda c: float(c.peak_bytes), 2**-20, 0),
    Metric("cpu_per_token", "CPU ms/token", cpu_per_token_s, 1e3, 2),
)


@dataclass(frozen=True, slots=True)
class Comparison:
    """One figure of one server beside the reference, over paired repetitions.

    Attributes:
        ratios: Server over reference, one a pair.
        server: The server's own values, one a pair.
        reference: The reference's.
    """

    metric: Metric
    clients: int
    name: str
    ratios: tuple[float, ...]
    server: tuple[float, ...]
    reference: tuple[float, ...]

    @property
    def ratio(self) -> float:
        """Median ratio."""
        return median(self.ratios)

    @property
    def spread(self) -> float:
        """(largest - smallest ratio) / median ratio: how far pairs disagree."""
        return (max(self.ratios) - min(self.ratios)) / self.ratio

    @property
    def reached(self) -> bool | None:
        """Whether the median is as good as wanted; None = nothing is wanted."""
        if self.metric.wanted is None:
            return None
        if self.metric.more_is_better:
            return self.ratio >= self.metric.wanted
        return self.ratio <= self.metric.wanted


def compare(
    cells: Sequence[Cell], metric: Metric, name: str, reference: str, clients: int
) -> Comparison | None:
    """Pair the usable cells of two servers by repetition; None if there is no pair."""
    mine, theirs = (
        {c.repetition: c for c in cells if c.server == server and c.clients == clients}
        for server in (name, reference)
    )
    repetitions = sorted(mine.keys() & theirs.keys())
    pairs = [
        (mine[r], theirs[r]) for r in repetitions if not (mine[r].problem or theirs[r].problem)
    ]
    if not pairs:
        return None
    ours = tuple(metric.of(cell) for cell, _ in pairs)
    other = tuple(metric.of(cell) for _, cell in pairs)
    ratios = tuple(a / b for a, b in zip(ours, other, strict=True))
    return Comparison(metric, clients, name, ratios, ours, other)


def problem_of(cell: Cell, max_tokens: int, prompt_tokens: int | None) -> str | None:
    """Say why a cell cannot be compared, None if it can.

    Args:
        max_tokens: What each answer must have.
        prompt_tokens: What each prompt must have where the server reports it; None = any.
    """
    for request in cell.requests:
        who = f"client {request.client}, request {request.index}"
        if request.error is not None:
            return f"{who}: {request.error}"
        if request.completion_tokens != max_tokens:
            return f"{who}: {request.completion_tokens} tokens instead of {max_tokens}"
        if prompt_tokens is not None and request.prompt_tokens not in {None, prompt_tokens}:
            return f"{who}: prompt of {request.prompt_tokens} tokens instead of {prompt_tokens}"
    return None


def equal_answers(cells: Sequence[Cell], name: str, reference: str) -> tuple[int, int]:
    """Count requests whose answer has the same text on both servers: (equal, compared).

    Greedy answers of the same weights are mostly equal; much fewer means different work was done.
    """
    texts: dict[tuple[object, ...], dict[str, str]] = {}
    for cell in cells:
        for request in cell.requests:
            key = (cell.scenario, cell.clients, cell.repetition, request.client, request.index)
            texts.setdefault(key, {})[cell.server] = request.text
    both = [t for t in texts.values() if name in t and reference in t]
    return sum(t[name] == t[reference] for t in both), len(both)
