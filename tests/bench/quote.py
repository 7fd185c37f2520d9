"""Puts the tables of a report between the markers in the documents."""

from __future__ import annotations

from pathlib import Path

from tests.bench import tables
from tests.bench.records import Report
from tests.bench.servers import ROOT

START, END = "<!-- bench -->", "<!-- /bench -->"


def between_markers(document: str, block: str) -> str:
    """Return the document with `block` between its markers.

    Raises:
        ValueError: The markers are missing.
    """
    before, started, rest = document.partition(START)
    _, ended, after = rest.partition(END)
    if not (started and ended):
        msg = f"the document has no {START} … {END}"
        raise ValueError(msg)
    return f"{before}{START}\n{block.strip()}\n{END}{after}"


def into_documents(report: Report, root: Path = ROOT) -> None:
    """Write the summary into the README and the whole report into `docs/BENCHMARKS.md`."""
    blocks = {"README.md": tables.summary(report), "docs/BENCHMARKS.md": tables.render(report)}
    for name, block in blocks.items():
        path = root / name
        path.write_text(between_markers(path.read_text("utf-8"), block), "utf-8")
