"""Checks of `homeai doctor` on what is not homeai's own: engine, Qt, driver, keyring.

Native libraries are loaded in a process of their own: one that was built for another processor
would end this one.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import subprocess
import sys
from collections.abc import Mapping

from homeai.cli.display import has_display
from homeai.cli.finding import Finding

_LOAD_S = 60
_LONGEST = 200
_ENGINE = "import llama_cpp.llama_cpp as c; print(c.llama_version().decode())"
_QT = "import PySide6.QtWidgets as w; print(w.__name__ and __import__('PySide6').__version__)"


def engine() -> Finding:
    """Whether llama.cpp loads."""
    loaded, said = _try(_ENGINE)
    if not loaded:
        remedy = "Build it on this machine: `python3 packaging/bootstrap.py run`."
        return Finding("engine", "fail", f"the engine does not load: {said}", remedy)
    wheel = importlib.metadata.version("llama-cpp-python")
    return Finding("engine", "ok", f"llama-cpp-python {wheel}, llama.cpp {said}")


def desktop(environment: Mapping[str, str]) -> Finding:
    """Whether a window can be shown."""
    if importlib.util.find_spec("PySide6") is None:
        text = "PySide6 is not installed: no window, but `homeai serve` works"
        return Finding("desktop", "warn", text, "pip install 'homeai[desktop]'")
    loaded, said = _try(_QT)
    if not loaded:
        remedy = "`python3 packaging/bootstrap.py run` names the missing packages."
        return Finding("desktop", "warn", f"PySide6 does not load: {said}", remedy)
    if not has_display(environment):
        return Finding("desktop", "ok", f"PySide6 {said}; there is no display here")
    return Finding("desktop", "ok", f"PySide6 {said}, and a display")


def driver() -> Finding:
    """Which accelerators NVIDIA's driver knows."""
    try:
        import pynvml
    except ImportError:
        remedy = "pip install nvidia-ml-py"
        return Finding("gpu", "warn", "nvidia-ml-py is not installed", remedy)
    try:
        pynvml.nvmlInit()
        try:
            version, count = pynvml.nvmlSystemGetDriverVersion(), pynvml.nvmlDeviceGetCount()
        finally:
            pynvml.nvmlShutdown()
    except pynvml.NVMLError as error:
        return Finding("gpu", "ok", f"no NVIDIA driver ({error}); the CPU computes")
    text = f"NVIDIA driver {version}, {count} devices; this version computes on the CPU"
    return Finding("gpu", "ok", text)


def keyring() -> Finding:
    """Where the desktop can keep secrets."""
    try:
        import keyring as library

        backend = library.get_keyring()
    except ImportError as error:
        return Finding("keyring", "warn", f"keyring does not load: {error}", "pip install keyring")
    name = f"{type(backend).__module__.removeprefix('keyring.backends.')}.{type(backend).__name__}"
    if backend.priority < 1:
        text = f"there is no safe keyring here ({name})"
        return Finding("keyring", "warn", text, "Install and unlock GNOME Keyring or KWallet.")
    return Finding("keyring", "ok", name)


def _try(code: str) -> tuple[bool, str]:
    """Run `code` in another interpreter; returns whether it ended well, and what it said last."""
    if getattr(sys, "frozen", False):  # a packaged program is no interpreter, and brings its own
        return True, "packaged"
    try:
        run = subprocess.run(  # noqa: S603 -- fixed text
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            encoding="utf-8",
            errors="replace",
            timeout=_LOAD_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return False, f"no answer within {_LOAD_S} s"
    said = run.stdout if run.returncode == 0 else run.stderr
    last = (said.strip().splitlines() or [f"ended with status {run.returncode}"])[-1]
    return run.returncode == 0, last[:_LONGEST]
