"""The checks behind `homeai doctor`."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import platform
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from homeai import __version__
from homeai.hardware import ram
from homeai.models.catalogue import Catalogue
from homeai.settings import corefile
from homeai.settings.paths import Paths
from homeai.settings.store import SettingsError, load

_GIB = 2**30
_LEAST_DISK = 2 * _GIB
_ENGINE_CHECK = "import llama_cpp.llama_cpp as c; print(c.llama_version().decode())"


@dataclass(frozen=True, slots=True)
class Finding:
    """Result of one check.

    Attributes:
        name: What was checked.
        verdict: ok | warn | fail.
        text: What was found.
        remedy: What to do.
    """

    name: str
    verdict: str
    text: str
    remedy: str = ""

    def as_dict(self) -> dict[str, str]:
        """For JSON."""
        return asdict(self)


def examine(paths: Paths) -> list[Finding]:
    """Run all checks; none of them changes anything."""
    checks: list[Callable[[Paths], Finding]] = [
        _versions, _engine, _settings, _models, _memory, _disk, _port, _desktop, _driver, _privacy,
    ]  # fmt: skip
    return [check(paths) for check in checks]


def _versions(_paths: Paths) -> Finding:
    text = f"homeai {__version__}, Python {platform.python_version()}, {platform.system()} {platform.machine()}"
    return Finding("versions", "ok", text)


def _engine(_paths: Paths) -> Finding:
    # in a process of its own: a library built for another processor would end this one
    run = subprocess.run(  # noqa: S603 -- fixed text
        [sys.executable, "-c", _ENGINE_CHECK],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    if run.returncode == 0:
        wheel = importlib.metadata.version("llama-cpp-python")
        return Finding("engine", "ok", f"llama-cpp-python {wheel}, llama.cpp {run.stdout.strip()}")
    reason = (run.stderr.strip().splitlines() or [f"ended with status {run.returncode}"])[-1]
    remedy = "Build it on this machine: `python3 packaging/bootstrap.py run`."
    return Finding("engine", "fail", f"the engine does not load: {reason[:200]}", remedy)


def _settings(paths: Paths) -> Finding:
    try:
        layered = load(paths.settings_file, os.environ)
    except SettingsError as error:
        return Finding("settings", "fail", str(error), f"`homeai settings reset {error.key}`")
    if layered.problems:
        return Finding("settings", "warn", "; ".join(layered.problems))
    return Finding("settings", "ok", f"{len(layered.sources)} values differ from the defaults")


def _models(paths: Paths) -> Finding:
    entries = Catalogue(paths.models).entries()
    usable = [entry for entry in entries if entry.facts is not None]
    if not usable:
        return Finding("models", "fail", "no usable model", "`homeai models add FILE`")
    broken = [entry.name for entry in entries if entry.facts is None]
    if broken:
        return Finding(
            "models", "warn", f"cannot be used: {', '.join(broken)}", "`homeai models list`"
        )
    return Finding("models", "ok", ", ".join(entry.name for entry in usable))


def _memory(_paths: Paths) -> Finding:
    memory = ram.probe()
    text = f"{memory.available_bytes / _GIB:.1f} of {memory.total_bytes / _GIB:.1f} GiB available"
    verdict = "ok" if memory.available_bytes > _GIB else "warn"
    return Finding("memory", verdict, text)


def _disk(paths: Paths) -> Finding:
    folder = next(p for p in (paths.data, *paths.data.parents) if p.exists())
    free = shutil.disk_usage(folder).free
    verdict = "ok" if free > _LEAST_DISK else "warn"
    return Finding("disk", verdict, f"{free / _GIB:.1f} GiB free for models")


def _port(paths: Paths) -> Finding:
    core = corefile.read(paths.core_file)
    if core is not None:
        return Finding("service", "ok", f"runs at {core.url}")
    try:
        port = load(paths.settings_file, os.environ).settings.server.port
    except SettingsError:
        return Finding("service", "warn", "not running; the settings cannot be read")
    with socket.socket() as probe:
        probe.settimeout(0.5)
        taken = port != 0 and probe.connect_ex(("127.0.0.1", port)) == 0
    if taken:
        remedy = "Choose another: `homeai settings set server.port 8485`."
        return Finding("service", "warn", f"port {port} is taken by another program", remedy)
    return Finding("service", "ok", f"not running; port {port} is free")


def _desktop(_paths: Paths) -> Finding:
    if importlib.util.find_spec("PySide6") is None:
        return Finding(
            "desktop", "warn", "PySide6 is not installed: no window, `homeai serve` works"
        )
    if sys.platform == "linux" and not any(map(os.environ.get, ("DISPLAY", "WAYLAND_DISPLAY"))):
        return Finding("desktop", "ok", "PySide6 is installed; there is no display here")
    return Finding("desktop", "ok", f"PySide6 {importlib.metadata.version('PySide6-Essentials')}")


def _driver(_paths: Paths) -> Finding:
    import pynvml

    try:
        pynvml.nvmlInit()
        count = pynvml.nvmlDeviceGetCount()
        pynvml.nvmlShutdown()
    except pynvml.NVMLError as error:
        return Finding("gpu", "ok", f"no NVIDIA driver ({error}); the CPU computes")
    return Finding("gpu", "warn", f"{count} NVIDIA devices; this version computes on the CPU only")


def _privacy(paths: Paths) -> Finding:
    if sys.platform == "win32":
        return Finding("privacy", "ok", "folders are protected by the user account")
    loose = [
        folder.name
        for folder in (paths.config, paths.data, paths.logs, paths.runtime)
        if folder.exists() and _open_to_others(folder)
    ]
    if loose:
        return Finding("privacy", "warn", f"others can read: {', '.join(loose)}", "chmod 700 them")
    return Finding("privacy", "ok", "only you can read homeai's folders")


def _open_to_others(folder: Path) -> bool:
    return bool(folder.stat().st_mode & 0o077)
