"""The command line of `compare.py`."""

from __future__ import annotations

import argparse
import dataclasses
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from tests.bench import extras, llama_build, machine, quote, tables
from tests.bench.comparison import Comparing, Workload
from tests.bench.options import parser
from tests.bench.prompts import read_vocabulary
from tests.bench.records import Report
from tests.bench.servers import HomeAI, LlamaCppServer, LlamaServer, Server, ServerFailed, Settings

REFERENCE = "llama-server"
MOST_COPIED_BYTES = 2**30
BUSY_CLIENTS = (1, 2)
SELF = "llama-server again"
_SELF_CHECK_BOUND = 0.1
EXIT_OK, EXIT_FAILED = 0, 1


def main(arguments: list[str] | None = None) -> int:
    """Run the comparison; returns the exit status."""
    options = parser().parse_args(arguments)
    try:
        report = _report(options)
    except (llama_build.BuildFailed, ServerFailed, RuntimeError, ValueError) as error:
        print(f"compare: {error}", file=sys.stderr)
        return EXIT_FAILED
    print(tables.render(report))
    if options.quote:
        quote.into_documents(report)
    return _verdict(options, report)


def _report(options: argparse.Namespace) -> Report:
    if options.from_json is not None:
        return msgspec.json.decode(options.from_json.read_bytes(), type=Report)
    if options.model is None or not options.model.is_file():
        msg = f"no model: --model PATH or HOMEAI_TEST_MODEL, given was {options.model}"
        raise ValueError(msg)
    return run(options)


def run(options: argparse.Namespace) -> Report:
    """Build what is missing, take all cells and return the report."""
    binary = options.llama_server or llama_build.ensure(options.cache, options.source, options.jobs)
    others, not_measured = _others(options, binary)
    workload = _workload(options)
    if options.keep_logs:
        options.keep_logs.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="homeai-bench-") as temporary:
        options.model = _own_copy(options.model, Path(temporary))
        comparing = Comparing(
            servers=[*others, LlamaServer(binary, REFERENCE, tuple(options.reference_arg))],
            settings=lambda slots: _settings(options, slots),
            workload=workload,
            vocabulary=read_vocabulary(options.model),
            folder=Path(tempfile.mkdtemp(dir=options.keep_logs or temporary)),
            tell=lambda line: print(line, file=sys.stderr, flush=True),
        )
        report = Report(
            machine=machine.facts(),
            versions={
                **machine.versions("homeai", "llama-cpp-python"),
                "llama-server": llama_build.version_line(binary),
            },
            settings=_described(options, workload),
            commands={server.name: _command(server, options) for server in comparing.servers},
            reference=REFERENCE,
            cells=[],
            not_measured=not_measured,
        )
        for measure in _plan(options, comparing):
            measure()
            report = msgspec.structs.replace(
                report, cells=comparing.cells, retaken=comparing.retaken
            )
            if options.json:  # after each step, so that a run cut off is not lost
                options.json.write_bytes(msgspec.json.format(msgspec.json.encode(report), indent=1))
    return report


def _own_copy(model: Path, folder: Path) -> Path:
    """Copy a model that is not too large, so that no other program shares its pages with a server."""
    if model.stat().st_size > MOST_COPIED_BYTES:
        return model
    return Path(shutil.copyfile(model, folder / model.name))


def _plan(options: argparse.Namespace, comparing: Comparing) -> Iterator[Callable[[], None]]:
    for clients in options.clients:
        yield partial(comparing.throughput, clients, options.repetitions)
    if not options.no_shared_prefix:
        yield partial(comparing.shared_prefix, options.repetitions)
    if options.busy:
        for clients in BUSY_CLIENTS:
            yield partial(comparing.beside_busy_program, clients, options.repetitions)


def _others(options: argparse.Namespace, binary: Path) -> tuple[list[Server], dict[str, str]]:
    """Return the servers beside the reference, and why some are missing."""
    if options.self_check:
        return [LlamaServer(binary, SELF, tuple(options.reference_arg))], {}
    chosen: list[Server] = []
    missing: dict[str, str] = {}
    if "homeai" in options.servers:
        chosen.append(HomeAI(options.homeai_python, extra=tuple(options.homeai_arg)))
    if "llama_cpp.server" in options.servers:
        python = options.llama_cpp_server_python or extras.find(options.cache)
        if options.install_extras:
            python = extras.install(options.cache)
        problem = extras.problem(python)
        if problem is None:
            chosen.append(LlamaCppServer(python))
        else:
            missing["llama_cpp.server"] = problem
    return chosen, missing


def _workload(options: argparse.Namespace) -> Workload:
    return Workload(
        endpoint=options.endpoint,
        prompt_tokens=options.prompt_tokens,
        max_tokens=options.max_tokens,
        requests=options.requests,
        prefix_tokens=options.prefix_tokens,
        most_foreign_cores=options.most_foreign_cores,
        retakes=options.retakes,
        quiet_wait_s=options.quiet_wait,
        seed=options.seed,
    )


def _settings(options: argparse.Namespace, slots: int) -> Settings:
    return Settings(
        model=options.model,
        slots=slots,
        context_tokens=options.context_tokens,
        threads=options.threads,
        niceness=options.nice,
    )


def _described(options: argparse.Namespace, workload: Workload) -> dict[str, Any]:
    alike = _settings(options, 0)
    settings: dict[str, Any] = {
        "model": options.model.name,
        "slots": "= clients",
        "context_tokens": alike.context_tokens,
        "threads": alike.decode_threads,
        "threads_batch": alike.batch_threads,
        "kv_type": alike.kv_type,
        "niceness": alike.niceness,
        "flash_attention": "on",
    }
    return settings | dataclasses.asdict(workload) | {"repetitions": options.repetitions}


def _command(server: Server, options: argparse.Namespace) -> str:
    """The server's command line for two slots, without this machine's paths."""
    launch = server.launch(_settings(options, 2), Path("FOLDER"))
    words = [Path(launch.argv[0]).name, *launch.argv[1:]]
    text = " ".join(words).replace(str(options.model), "MODEL")
    return text.replace(f"--port {launch.port} ", "--port PORT ")


def _verdict(options: argparse.Namespace, report: Report) -> int:
    if options.self_check:
        ratios = [c.ratio for c in tables.comparisons(report) if c.metric.key == "tokens_per_s"]
        worst = max(abs(ratio - 1) for ratio in ratios)
        print(f"self-check: the server differs from itself by up to {worst:.1%} in tokens/s")
        return EXIT_OK if worst <= _SELF_CHECK_BOUND else EXIT_FAILED
    missed = tables.missed(report, "homeai")
    for line in missed:
        print(f"MISSED: {line}")
    return EXIT_FAILED if missed and options.check else EXIT_OK
