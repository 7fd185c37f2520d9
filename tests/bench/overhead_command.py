"""The command line of `overhead.py`."""

from __future__ import annotations

import argparse
import dataclasses
import http.client
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from homeai.domain.request import Sampling
from tests.bench import machine, processes
from tests.bench.figures import median, percentile
from tests.bench.prompts import read_vocabulary, text_of
from tests.bench.servers import HomeAI, ServerFailed, Settings, running
from tests.fakes.worker_client import WorkerClient

WANTED_S = 0.002
PROMPT_TOKENS = 32
_WARM_UP_PAIRS = 10
Ask = Callable[[str], float]
"""Sends a prompt, waits for its one token, returns the seconds it took."""


@dataclasses.dataclass(frozen=True, slots=True)
class Overhead:
    """Pairs of one kind of prompt.

    Attributes:
        kind: `repeated` (all but one token cached) | `fresh` (every prompt new).
        worker_s: Seconds of each request to the worker alone.
        http_s: Seconds of the paired requests through the core.
    """

    kind: str
    worker_s: list[float]
    http_s: list[float]

    @property
    def added_p50_s(self) -> float:
        """Median through the core minus median of the worker alone."""
        return median(self.http_s) - median(self.worker_s)

    @property
    def added_p90_s(self) -> float:
        """The same of the 90th percentiles."""
        return percentile(self.http_s, 0.9) - percentile(self.worker_s, 0.9)


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
        results, foreign = measure(options.model, options.pairs)
    except ServerFailed as error:
        print(f"overhead: {error}", file=sys.stderr)
        return 1
    for result in results:
        print(
            f"{result.kind:9} worker alone p50 {median(result.worker_s) * 1e3:.2f} ms, through HTTP "
            f"{median(result.http_s) * 1e3:.2f} ms: added p50 {result.added_p50_s * 1e3:.2f} ms, "
            f"p90 {result.added_p90_s * 1e3:.2f} ms ({len(result.http_s)} pairs)"
        )
    print(f"other programs took {foreign:.2f} cores meanwhile")
    if options.json:
        content = {
            "machine": machine.facts(),
            "versions": machine.versions("homeai", "llama-cpp-python"),
            "foreign_cores": foreign,
            "overhead": [dataclasses.asdict(r) | {"added_p50_s": r.added_p50_s} for r in results],
        }
        options.json.write_bytes(msgspec.json.format(msgspec.json.encode(content), indent=1))
    reached = results[0].added_p50_s <= WANTED_S
    print(f"wanted ≤ {WANTED_S * 1e3:g} ms at p50: {'yes' if reached else 'NO'}")
    return 1 if options.check and not reached else 0


def measure(model: Path, pairs: int) -> tuple[list[Overhead], float]:
    """Return the pairs of both kinds of prompt, and the cores that others took meanwhile.

    Raises:
        ServerFailed: The core did not start.
    """
    settings = Settings(model, slots=1, context_tokens=1024)
    vocabulary = read_vocabulary(model)
    with tempfile.TemporaryDirectory(prefix="homeai-bench-") as temporary:
        worker = WorkerClient(
            model, context_tokens=settings.context_tokens, sequences=settings.slots
        )
        try:
            with running(HomeAI(), settings, Path(temporary) / "core") as up:
                processes.wait_until_quiet(0.1, 60)
                meter = processes.start_meter(up.pid)
                before = processes.cpu_s(worker.process.pid)
                connection = http.client.HTTPConnection("127.0.0.1", up.port, timeout=60)
                found = []
                for kind in ("repeated", "fresh"):
                    prompts = [
                        text_of(vocabulary, PROMPT_TOKENS, kind if kind == "repeated" else f"{i}")
                        for i in range(pairs + _WARM_UP_PAIRS)
                    ]
                    found.append(
                        _pairs(kind, prompts, _over_channel(worker), _over_http(connection))
                    )
                connection.close()
                _, foreign = meter.stop()
                wall = time.monotonic() - meter.at
                foreign -= (processes.cpu_s(worker.process.pid) - before) / wall
        finally:
            worker.close()
    return found, max(0.0, foreign)


def _pairs(kind: str, prompts: list[str], worker: Ask, core: Ask) -> Overhead:
    result = Overhead(kind, [], [])
    for index, prompt in enumerate(prompts):
        if index % 2 == 0:
            alone, through = worker(prompt), core(prompt)
        else:
            through, alone = core(prompt), worker(prompt)
        if index >= _WARM_UP_PAIRS:
            result.worker_s.append(alone)
            result.http_s.append(through)
    return result


def _over_channel(worker: WorkerClient) -> Ask:
    def ask(prompt: str) -> float:
        started = time.perf_counter()
        ids = worker.ids(prompt)
        answer = worker.generate(ids, max_tokens=1, sampling=Sampling(temperature=0))
        took = time.perf_counter() - started
        if answer.done is None or answer.done.completion_tokens != 1:
            msg = f"the worker gave {answer.refused or answer.done} instead of one token"
            raise ServerFailed(msg)
        return took

    return ask


def _over_http(connection: http.client.HTTPConnection) -> Ask:
    def ask(prompt: str) -> float:
        body = msgspec.json.encode({"prompt": prompt, "max_tokens": 1, "temperature": 0})
        started = time.perf_counter()
        connection.request("POST", "/v1/completions", body, {"Content-Type": "application/json"})
        response = connection.getresponse()
        answer = response.read()
        took = time.perf_counter() - started
        if response.status != http.HTTPStatus.OK:
            msg = f"the core answered {response.status}: {answer[:300].decode('utf-8', 'replace')}"
            raise ServerFailed(msg)
        return took

    return ask


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="overhead.py", description="What the core adds to a request."
    )
    parser.add_argument("--pairs", type=int, default=300)
    parser.add_argument("--model", type=Path, default=machine.starter_model())
    parser.add_argument("--json", type=Path, metavar="FILE")
    parser.add_argument("--check", action="store_true", help="status 1 above 2 ms at p50")
    return parser
