"""The running core, or one started for a command and ended after it."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from homeai.cli.client import Core, CoreUnreachable
from homeai.settings import corefile
from homeai.settings.paths import Paths
from homeai.settings.program import own_program

START_S = 180.0
_STOP_S = 20.0


def running(paths: Paths) -> Core:
    """Return the core of this user.

    Raises:
        CoreUnreachable: None runs.
    """
    found = corefile.read(paths.core_file)
    if found is None:
        raise CoreUnreachable("homeai is not running; start it with `homeai` or `homeai serve`")
    return Core(found.url, found.token)


@contextmanager
def running_or_started(paths: Paths) -> Iterator[Core]:
    """Give the running core, or one that is started for this block and ended after it.

    Raises:
        CoreUnreachable: It cannot be started.
    """
    found = corefile.read(paths.core_file)
    if found is not None:
        yield Core(found.url, found.token)
        return
    with tempfile.TemporaryDirectory() as folder:
        ready, said = Path(folder) / "ready.json", Path(folder) / "said"
        process = _start(ready, said)
        try:
            _wait_for(ready, said, process)
            yield running(paths)
        finally:
            _stop(process)


def _start(ready: Path, said: Path) -> subprocess.Popen[bytes]:
    options = ["serve", "--port", "0", "--exit-with-parent", "--ready-file", str(ready)]
    # Apart from the terminal's group: Ctrl-C stops an answer, not the core that gives it. When this
    # process dies, the core sees its standard input end.
    own_group = 0
    if sys.platform == "win32":
        own_group = subprocess.CREATE_NEW_PROCESS_GROUP
    with said.open("wb") as errors:  # a file: a pipe that nobody reads would fill and stop the core
        return subprocess.Popen(  # noqa: S603 -- our own program, no foreign text
            [*own_program(), *options],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=errors,
            env=os.environ,
            start_new_session=True,
            creationflags=own_group,
        )


def _stop(process: subprocess.Popen[bytes]) -> None:
    if process.stdin is not None:
        process.stdin.close()
    try:
        process.wait(_STOP_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _wait_for(ready: Path, said: Path, process: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + START_S
    while not ready.exists():
        try:
            process.wait(0.05)
        except subprocess.TimeoutExpired:
            if time.monotonic() > end:
                raise CoreUnreachable("the service did not become ready in time") from None
        else:
            raise CoreUnreachable(f"the service could not be started. {_last_words(said)}".strip())


def _last_words(said: Path) -> str:
    """What it said before it ended."""
    lines = said.read_text("utf-8", "replace").splitlines()
    last = next((line.strip() for line in reversed(lines) if line.strip()), "")
    return last.removeprefix("note: ")
