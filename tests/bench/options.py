"""The options of `compare.py`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from tests.bench import llama_build, machine

CHOICES = ("homeai", "llama_cpp.server")


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


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    made = argparse.ArgumentParser(
        prog="compare.py",
        description="Compare homeai with llama-server and llama_cpp.server on this machine.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    what = made.add_argument_group("what")
    what.add_argument("--quick", nargs=0, action=_Quick, help="do everything once, in a minute")
    what.add_argument("--self-check", action="store_true", help="llama-server against itself")
    what.add_argument("--servers", nargs="+", choices=CHOICES, default=list(CHOICES))
    what.add_argument("--clients", type=_numbers, default=[1, 2, 4, 8])
    what.add_argument("--repetitions", type=_positive, default=5, help="pairs for each figure")
    what.add_argument("--no-shared-prefix", action="store_true")
    what.add_argument("--check", action="store_true", help="status 1 if a wanted ratio was missed")
    what.add_argument("--busy", action="store_true", help="also beside another busy program")
    what.add_argument("--json", type=Path, metavar="FILE", help="write all raw figures")
    what.add_argument("--from-json", type=Path, metavar="FILE", help="measure nothing, show that")
    what.add_argument("--quote", action="store_true", help="put the tables into the documents")
    load = made.add_argument_group("load")
    load.add_argument("--endpoint", choices=("completions", "chat"), default="completions")
    load.add_argument("--prompt-tokens", type=_positive, default=130)
    load.add_argument("--max-tokens", type=_positive, default=64)
    load.add_argument("--requests", type=_positive, default=3, help="requests of each client")
    load.add_argument("--prefix-tokens", type=_positive, default=500)
    load.add_argument("--seed", type=int, default=1)
    alike = made.add_argument_group("settings that every server gets")
    alike.add_argument("--model", type=Path, default=machine.starter_model())
    alike.add_argument("--context-tokens", type=_positive, default=2048, help="of each sequence")
    alike.add_argument("--threads", type=_positive, help="default: as homeai chooses")
    noise = made.add_argument_group("noise")
    noise.add_argument("--most-foreign-cores", type=float, default=0.1, metavar="CORES")
    noise.add_argument("--nice", type=int, default=0, help="priority of servers and load, -20..19")
    noise.add_argument("--retakes", type=int, default=3, help="of a pair while others compute")
    noise.add_argument("--quiet-wait", type=float, default=60.0, metavar="S")
    build = made.add_argument_group("the servers")
    build.add_argument("--llama-server", type=Path, metavar="BINARY", help="use it, build none")
    build.add_argument("--source", type=Path, metavar="DIR", help="unpacked llama-cpp-python sdist")
    build.add_argument("--cache", type=Path, default=llama_build.default_cache())
    build.add_argument("--jobs", type=_positive, help="of the compiler")
    build.add_argument("--reference-arg", action="append", default=[], metavar="ARG")
    build.add_argument("--homeai-python", type=Path, default=Path(sys.executable))
    build.add_argument("--homeai-arg", action="append", default=[], metavar="ARG")
    build.add_argument("--install-extras", action="store_true", help="of llama_cpp.server, once")
    build.add_argument("--llama-cpp-server-python", type=Path, metavar="PYTHON")
    build.add_argument("--keep-logs", type=Path, metavar="DIR")
    return made
