"""The command line of `compare.py`."""

from __future__ import annotations

import argparse
import dataclasses
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import msgspec
import psutil

from tests.bench import llama_build, machine, tables
from tests.bench.comparison import Comparing, Workload
from tests.bench.prompts import read_vocabulary
from tests.bench.records import Report
from tests.bench.servers import HomeAI, LlamaCppServer, LlamaServer, Server, ServerFailed, Settings

REFERENCE = "llama-server"
SELF = "llama-server again"
CHOICES = ("homeai", "llama_cpp.server")
_SELF_CHECK_BOUND = 0.1
EXIT_OK, EXIT_FAILED = 0, 1


def main(arguments: list[str] | None = None) -> int:
    """Run the comparison; returns the exit status."""
    options = _parser().parse_args(arguments)
    if options.model is None or not options.model.is_file():
        print(
            f"no model: --model PATH or HOMEAI_TEST_MODEL, given was {options.model}",
            file=sys.stderr,
        )
        return EXIT_FAILED
    try:
        report = run(options)
    except (llama_build.BuildFailed, ServerFailed, RuntimeError, ValueError) as error:
        print(f"compare: {error}", file=sys.stderr)
        return EXIT_FAILED
    if options.json:
        options.json.write_bytes(msgspec.json.format(msgspec.json.encode(report), indent=1))
    print(tables.render(report))
    return _verdict(options, report)


def run(options: argparse.Namespace) -> Report:
    """Build what is missing, take all cells and return the report."""
    binary = options.llama_server or llama_build.ensure(options.cache, options.source, options.jobs)
    reference = LlamaServer(binary, REFERENCE, tuple(options.reference_arg))
    others, not_measured = _others(options, binary)
    workload = _workload(options)
    if options.keep_logs:
        options.keep_logs.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="homeai-bench-") as temporary:
        folder = Path(tempfile.mkdtemp(dir=options.keep_logs or temporary))
        comparing = Comparing(
            servers=[*others, reference],
            settings=lambda slots: _settings(options, slots),
            workload=workload,
            vocabulary=read_vocabulary(options.model),
            folder=folder,
            tell=lambda line: print(line, file=sys.stderr, flush=True),
        )
        for clients in options.clients:
            comparing.throughput(clients, options.repetitions)
        if not options.no_shared_prefix:
            comparing.shared_prefix(options.repetitions)
    return Report(
        machine=machine.facts(),
        versions={
            **machine.versions("homeai", "llama-cpp-python"),
            "llama-server": llama_build.version_line(binary),
        },
        settings=_described(options, workload),
        commands={server.name: _command(server, options) for server in comparing.servers},
        reference=REFERENCE,
        cells=comparing.cells,
        not_measured=not_measured,
        retaken=comparing.retaken,
    )


def _others(options: argparse.Namespace, binary: Path) -> tuple[list[Server], dict[str, str]]:
    """Return the servers beside the reference, and why some are missing."""
    if options.self_check:
        return [LlamaServer(binary, SELF, tuple(options.reference_arg))], {}
    chosen: list[Server] = []
    missing: dict[str, str] = {}
    if "homeai" in options.servers:
        chosen.append(HomeAI(extra=tuple(options.homeai_arg)))
    if "llama_cpp.server" in options.servers:
        problem = _import_problem(options.llama_cpp_server_python)
        if problem is None:
            chosen.append(LlamaCppServer(options.llama_cpp_server_python))
        else:
            missing["llama_cpp.server"] = problem
    return chosen, missing


def _import_problem(python: Path) -> str | None:
    """Say why `llama_cpp.server` cannot run in that interpreter; None = it can."""
    tried = subprocess.run(
        [python, "-c", "import llama_cpp.server.app, llama_cpp.server.__main__"],
        capture_output=True,
        text=True,
        check=False,
    )
    if tried.returncode == 0:
        return None
    said = tried.stderr.strip().splitlines() or [f"status {tried.returncode}"]
    return f"its extras are not installed in {python.name} ({said[-1]})"


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
        threads_batch=options.threads_batch,
    )


def _described(options: argparse.Namespace, workload: Workload) -> dict[str, Any]:
    settings = dataclasses.asdict(_settings(options, 0))
    settings |= {"model": options.model.name, "slots": "= clients", "flash_attention": "on"}
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


def _numbers(text: str) -> list[int]:
    try:
        numbers = [int(part) for part in text.split(",")]
    except ValueError:
        numbers = []
    if not numbers or min(numbers) < 1:
        msg = f"'{text}' is not a list of whole numbers from 1 up, such as 1,2,4,8"
        raise argparse.ArgumentTypeError(msg)
    return numbers


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        msg = f"'{text}' is not a whole number from 1 up"
        raise argparse.ArgumentTypeError(msg)
    return int(text)


class _Quick(argparse.Action):
    """`--quick` sets several options; later ones on the command line still win."""

    def __call__(self, parser: Any, namespace: Any, values: Any, option_string: Any = None) -> None:
        quick = {"clients": [1, 2], "repetitions": 1, "requests": 1, "max_tokens": 16}
        quick |= {"retakes": 0, "quiet_wait": 0.0, "prefix_tokens": 200}
        vars(namespace).update(quick)


def _parser() -> argparse.ArgumentParser:
    cores = psutil.cpu_count(logical=False) or os.cpu_count() or 1
    model = os.environ.get("HOMEAI_TEST_MODEL")
    parser = argparse.ArgumentParser(
        prog="compare.py",
        description="Compare homeai with llama-server and llama_cpp.server on this machine.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    what = parser.add_argument_group("what")
    what.add_argument("--quick", nargs=0, action=_Quick, help="do everything once, in a minute")
    what.add_argument("--self-check", action="store_true", help="llama-server against itself")
    what.add_argument("--servers", nargs="+", choices=CHOICES, default=list(CHOICES))
    what.add_argument("--clients", type=_numbers, default=[1, 2, 4, 8])
    what.add_argument("--repetitions", type=_positive, default=5, help="pairs for each figure")
    what.add_argument("--no-shared-prefix", action="store_true")
    what.add_argument("--check", action="store_true", help="status 1 if a wanted ratio was missed")
    what.add_argument("--json", type=Path, metavar="FILE", help="write all raw figures")
    load = parser.add_argument_group("load")
    load.add_argument("--endpoint", choices=("completions", "chat"), default="completions")
    load.add_argument("--prompt-tokens", type=_positive, default=130)
    load.add_argument("--max-tokens", type=_positive, default=64)
    load.add_argument("--requests", type=_positive, default=3, help="requests of each client")
    load.add_argument("--prefix-tokens", type=_positive, default=500)
    load.add_argument("--seed", type=int, default=1)
    alike = parser.add_argument_group("settings that every server gets")
    alike.add_argument("--model", type=Path, default=Path(model) if model else None)
    alike.add_argument("--context-tokens", type=_positive, default=2048, help="of each sequence")
    alike.add_argument("--threads", type=_positive, default=max(1, cores - 1))
    alike.add_argument("--threads-batch", type=_positive, default=cores)
    noise = parser.add_argument_group("noise")
    noise.add_argument("--most-foreign-cores", type=float, default=0.1, metavar="CORES")
    noise.add_argument("--retakes", type=int, default=2, help="of a pair while others compute")
    noise.add_argument("--quiet-wait", type=float, default=60.0, metavar="S")
    build = parser.add_argument_group("the servers")
    build.add_argument("--llama-server", type=Path, metavar="BINARY", help="use it, build none")
    build.add_argument("--source", type=Path, metavar="DIR", help="unpacked llama-cpp-python sdist")
    build.add_argument("--cache", type=Path, default=llama_build.default_cache())
    build.add_argument("--jobs", type=_positive, help="of the compiler")
    build.add_argument("--reference-arg", action="append", default=[], metavar="ARG")
    build.add_argument("--homeai-arg", action="append", default=[], metavar="ARG")
    build.add_argument("--llama-cpp-server-python", type=Path, default=Path(sys.executable))
    build.add_argument("--keep-logs", type=Path, metavar="DIR")
    return parser
