"""Says what happens, runs the slow commands of it, and keeps their output in a log file."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from first_run.problems import SetupError

TERMINAL_BEAT_S = 1.0
PLAIN_BEAT_S = 30.0
TAIL_LINES = 15
TAIL_BYTES = 16_384

# How make ("12%" in brackets) and ninja ("34/567" in brackets) tell how far they are.
_PERCENT = re.compile(r"\[ *(\d+)%\]|\[(\d+)/(\d+)\]")


def say(text: str) -> None:
    """Print one line of progress on stderr; stdout belongs to the program started at the end."""
    print(f"homeai set-up: {text}", file=sys.stderr, flush=True)


def _tail(log: Path, size: int = TAIL_BYTES) -> str:
    with log.open("rb") as file:
        file.seek(max(0, log.stat().st_size - size))
        return file.read().decode("utf-8", "replace")


def _progress(log: Path) -> str:
    found = list(_PERCENT.finditer(_tail(log)))
    if not found:
        return ""
    percent, done, total = found[-1].groups()
    return f", {percent or 100 * int(done) // max(1, int(total))} %"


def _clock(seconds: float) -> str:
    return f"{int(seconds) // 60}:{int(seconds) % 60:02d}"


def clean_environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment for pip: the user's proxies and indexes stay, what would bend the target goes."""
    bending = {"PYTHONHOME", "PYTHONPATH", "PIP_TARGET", "PIP_PREFIX", "PIP_ROOT", "PIP_USER"}
    kept = {name: value for name, value in os.environ.items() if name not in bending}
    fixed = {
        "PIP_USER": "0",
        "PIP_NO_INPUT": "1",
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "PYTHONUNBUFFERED": "1",
    }
    return kept | fixed | dict(extra or {})


def _stop(process: subprocess.Popen[bytes]) -> None:
    """End a step and all it started; a compiler left behind would go on for minutes."""
    if sys.platform == "win32":
        process.kill()
    else:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _ended(process: subprocess.Popen[bytes], timeout_s: float) -> bool:
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(timeout=timeout_s)
    return process.returncode is not None


def run_step(
    what: str, command: Sequence[str], log: Path, *, env: Mapping[str, str] | None = None
) -> None:
    """Run a command with its output in `log`, telling every now and then how long it takes.

    Args:
        what: The step in words, as a person reads it.
        command: Program and arguments.
        log: File for its output; overwritten.
        env: Whole environment; default is `clean_environment()`.

    Raises:
        SetupError: The command failed; the message has the end of its output.
    """
    log.parent.mkdir(parents=True, exist_ok=True)
    started = time.monotonic()
    live = sys.stderr.isatty()
    beat_s = TERMINAL_BEAT_S if live else PLAIN_BEAT_S
    say(what)
    with log.open("wb") as output:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env=dict(env) if env is not None else clean_environment(),
            start_new_session=True,
            close_fds=False,  # the lock goes along; Python marks all else as not to be inherited
        )
        try:
            while not _ended(process, beat_s):
                beat = f"  … {_clock(time.monotonic() - started)}{_progress(log)}"
                print(f"\r{beat}" if live else beat, end="" if live else "\n", file=sys.stderr)
                sys.stderr.flush()
        except BaseException:
            _stop(process)
            raise
        finally:
            if live:
                print("\r\033[K", end="", file=sys.stderr, flush=True)
    code = process.returncode
    if code != 0:
        end = "\n".join(_tail(log).splitlines()[-TAIL_LINES:])
        msg = f"{what}: failed with exit code {code}. The last lines of {log}:\n{end}"
        raise SetupError(msg)
