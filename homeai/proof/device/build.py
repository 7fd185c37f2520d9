"""Compiles the simulated accelerator for the installed engine."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
SOURCE, HEADERS = HERE / "simgpu.c", HERE / "ggml"
_COMPILERS = ("cc", "gcc", "clang")
_FLAGS = ("-shared", "-fPIC", "-O1", "-std=gnu11")
_COMPILE_S = 120


class CannotBuild(Exception):
    """The simulated accelerator cannot be made here; the message says why and what helps."""


def engine_folder() -> Path:
    """Folder of the engine's libraries, without loading them.

    Raises:
        CannotBuild: llama-cpp-python is not installed.
    """
    found = importlib.util.find_spec("llama_cpp")
    if found is None or found.origin is None:
        raise CannotBuild("The engine, llama-cpp-python, is not installed.")
    return Path(found.origin).parent / "lib"


def build(folder: Path) -> Path:
    """Return the plugin; it is compiled once for each engine and source.

    Args:
        folder: Where it is kept.

    Raises:
        CannotBuild: Another system than Linux, no C compiler, or the compiler failed.
    """
    if sys.platform != "linux":
        raise CannotBuild("The simulated accelerator exists for Linux only.")
    compiler = next((path for name in _COMPILERS if (path := shutil.which(name))), None)
    if compiler is None:
        raise CannotBuild(
            "A C compiler is needed. On Debian or Ubuntu: apt-get install gcc libc6-dev"
        )
    engine = engine_folder()
    target = folder / f"libggml-simgpu-{_key(engine)}.so"
    if not target.exists():
        folder.mkdir(parents=True, exist_ok=True)
        _compile(compiler, engine, target)
    return target


def _key(engine: Path) -> str:
    """Changes with the source and with the engine, whose structures the plugin shares."""
    digest = hashlib.sha256(SOURCE.read_bytes())
    library = engine / "libggml-base.so.0"
    if library.exists():
        digest.update(f"{library.resolve().name} {library.stat().st_size}".encode())
    return digest.hexdigest()[:16]


def _compile(compiler: str, engine: Path, target: Path) -> None:
    public = engine.parent.parent / "include"
    if not (public / "ggml-backend.h").exists():
        raise CannotBuild("The engine was installed without its C headers (ggml-backend.h).")
    descriptor, name = tempfile.mkstemp(suffix=".so", dir=target.parent)
    os.close(descriptor)
    command = [compiler, *_FLAGS, "-I", os.fspath(public), "-I", os.fspath(HEADERS), "-o", name]
    command += [os.fspath(SOURCE), "-L", os.fspath(engine)]
    command += ["-l:libggml.so.0", "-l:libggml-base.so.0"]
    try:
        done = subprocess.run(  # noqa: S603 -- a compiler found on the path, with our own arguments
            command, capture_output=True, timeout=_COMPILE_S, check=False
        )
        if done.returncode != 0:
            reason = done.stderr.decode("utf-8", "replace").strip().splitlines()
            raise CannotBuild(f"The C compiler failed: {reason[-1] if reason else 'no reason'}")
        Path(name).replace(target)  # whole or not at all
    except (OSError, subprocess.TimeoutExpired) as error:
        raise CannotBuild(f"The C compiler could not run: {type(error).__name__}.") from error
    finally:
        Path(name).unlink(missing_ok=True)
