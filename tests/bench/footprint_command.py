"""The command line of `footprint.py`."""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

import msgspec

from tests.bench import machine, processes
from tests.bench.figures import median
from tests.bench.servers import HomeAI, ServerFailed, Settings, running

WANTED_BYTES = 90 * 2**20
WANTED_READY_S = 2.0
_SETTLE_S = 2.0


def main(arguments: list[str] | None = None) -> int:
    """Measure and print; returns the exit status."""
    options = _parser().parse_args(arguments)
    if options.model is None or not options.model.is_file():
        print(
            f"no model: --model PATH or HOMEAI_TEST_MODEL, given was {options.model}",
            file=sys.stderr,
        )
        return 1
    try:
        found = measure(options.model, options.starts)
    except ServerFailed as error:
        print(f"footprint: {error}", file=sys.stderr)
        return 1
    empty, ready = median(found["empty_core_bytes"]), median(found["ready_s"])
    held = [
        _line("core without a model", found["empty_core_bytes"], 2**-20, "MiB", WANTED_BYTES),
        _line("start to ready, model loaded", found["ready_s"], 1, "s", WANTED_READY_S),
    ]
    _line("core beside a loaded model", found["core_bytes"], 2**-20, "MiB", None)
    _line("core and worker, model loaded", found["tree_bytes"], 2**-20, "MiB", None)
    print(f"other programs took up to {max(found['foreign_cores']):.2f} cores during the starts")
    if options.json:
        content = {
            "machine": machine.facts(),
            "versions": machine.versions("homeai", "llama-cpp-python"),
            "memory_kind": processes.memory_kind(),
            "median": {"empty_core_bytes": empty, "ready_s": ready},
            **found,
        }
        options.json.write_bytes(msgspec.json.format(msgspec.json.encode(content), indent=1))
    return 1 if options.check and not all(held) else 0


def _line(what: str, values: list[float], scale: float, unit: str, wanted: float | None) -> bool:
    middle, low, high = median(values), min(values), max(values)
    text = (
        f"{what}: {middle * scale:.2f} {unit} ({low * scale:.2f}–{high * scale:.2f}, {len(values)})"
    )
    reached = wanted is None or middle <= wanted
    if wanted is not None:
        text += f", wanted ≤ {wanted * scale:g} {unit}: {'yes' if reached else 'NO'}"
    print(text)
    return reached


def measure(model: Path, starts: int) -> dict[str, list[float]]:
    """Start the core some times without and with a model; all figures, one a start.

    Raises:
        ServerFailed: It did not start.
    """
    found: dict[str, list[float]] = {
        key: []
        for key in ("empty_core_bytes", "ready_s", "core_bytes", "tree_bytes", "foreign_cores")
    }
    model.read_bytes()  # the disk is warm from here on
    settings = Settings(model, slots=2, context_tokens=8192)
    with tempfile.TemporaryDirectory(prefix="homeai-bench-") as temporary:
        for number in range(starts):
            folder = Path(temporary) / f"{number}"
            with running(HomeAI(with_model=False), settings, folder / "empty") as up:
                time.sleep(_SETTLE_S)
                found["empty_core_bytes"].append(processes.memory_bytes(up.pid))
            processes.wait_until_quiet(0.1, 60)
            meter = processes.start_meter()
            with running(HomeAI(), settings, folder / "model") as up:
                mine = processes.cpu_s(up.pid)
                _, others = meter.stop()
                wall = time.monotonic() - meter.at
                found["foreign_cores"].append(max(0.0, others - mine / wall))
                found["ready_s"].append(up.ready_s)
                time.sleep(_SETTLE_S)
                found["tree_bytes"].append(processes.memory_bytes(up.pid))
                found["core_bytes"].append(processes.memory_bytes(up.pid, children=False))
    return found


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="footprint.py", description="What the core costs.")
    parser.add_argument("--starts", type=int, default=7)
    parser.add_argument("--model", type=Path, default=machine.starter_model())
    parser.add_argument("--json", type=Path, metavar="FILE")
    parser.add_argument(
        "--check", action="store_true", help="status 1 if a wanted figure was missed"
    )
    return parser
