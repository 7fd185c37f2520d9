"""An interpreter that can run `llama_cpp.server`, whose extras are no dependencies of homeai."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

from tests.bench.llama_build import BuildFailed, installed_version

_TRY = "import llama_cpp.server.app, llama_cpp.server.__main__"


def problem(python: Path) -> str | None:
    """Say why `llama_cpp.server` cannot run in that interpreter; None = it can."""
    try:
        tried = subprocess.run([python, "-c", _TRY], capture_output=True, text=True, check=False)
    except OSError as error:
        return f"{python.name} does not start: {error.strerror}"
    if tried.returncode == 0:
        return None
    said = tried.stderr.strip().splitlines() or [f"status {tried.returncode}"]
    return f"its extras are not installed ({said[-1]}); --install-extras puts them into the cache"


def find(cache: Path) -> Path:
    """Return the interpreter in the cache if there is one, else the running one."""
    cached = _python(cache / f"llama-cpp-server-{installed_version()}")
    return cached if cached.exists() else Path(sys.executable)


def install(cache: Path) -> Path:
    """Make an environment in the cache that sees the installed packages and has the extras.

    Raises:
        BuildFailed: pip could not install them.
    """
    folder = cache / f"llama-cpp-server-{installed_version()}"
    python = _python(folder)
    if problem(python) is None:
        return python
    venv.create(folder, with_pip=True, clear=True)
    paths = {"base": str(folder), "platbase": str(folder)}
    packages = Path(sysconfig.get_path("purelib", "venv", paths))
    # named so that it is read last: what is installed here comes first
    (packages / "zz_parent.pth").write_text(f"{sysconfig.get_path('purelib')}\n", "utf-8")
    wanted = f"llama-cpp-python[server]=={installed_version()}"
    done = subprocess.run(
        [python, "-m", "pip", "install", "--quiet", wanted],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        msg = f"pip could not install {wanted}: {done.stderr[-1000:]}"
        raise BuildFailed(msg)
    return python


def _python(folder: Path) -> Path:
    return folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
