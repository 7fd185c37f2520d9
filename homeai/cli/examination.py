"""The checks behind `homeai doctor`: settings, models, place, neighbours."""

from __future__ import annotations

import os
import platform
import shutil
import socket
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from homeai import __version__
from homeai.cli.finding import Finding
from homeai.cli.libraries import desktop, driver, engine, keyring
from homeai.hardware import ram
from homeai.models.catalogue import Catalogue
from homeai.settings import corefile
from homeai.settings.paths import Paths
from homeai.settings.schema import Settings, is_loopback
from homeai.settings.store import Layered, SettingsError, load, variable_of

_GIB = 2**30
_LEAST_DISK = 2 * _GIB
_PROBE_S = 0.5


def examine(paths: Paths, environment: Mapping[str, str] = os.environ) -> list[Finding]:
    """Run all checks; none of them changes anything but setting a broken settings file aside."""
    about_settings, layered = _settings(paths, environment)
    values = layered.settings
    checks: list[Callable[[], Finding]] = [
        _versions,
        engine,
        lambda: about_settings,
        lambda: _models(paths, values),
        _memory,
        lambda: _disk(paths),
        lambda: _port(paths, values),
        lambda: desktop(environment),
        driver,
        keyring,
        lambda: _folders(paths),
    ]
    return [check() for check in checks]


def _versions() -> Finding:
    text = f"homeai {__version__}, Python {platform.python_version()}, {platform.system()} {platform.machine()}"
    return Finding("versions", "ok", text)


def _settings(paths: Paths, environment: Mapping[str, str]) -> tuple[Finding, Layered]:
    try:
        layered = load(paths.settings_file, environment)
    except SettingsError as error:
        remedy = f"`homeai settings reset {error.key}`"
        if error.source == "environment":
            remedy = f"Correct or unset the variable {variable_of(error.key)}."
        return Finding("settings", "fail", str(error), remedy), Layered(Settings())
    if layered.problems:
        remedy = "`homeai settings list` shows what is in force."
        return Finding("settings", "warn", "; ".join(layered.problems), remedy), layered
    text = f"{len(layered.sources)} values are set, the others have their defaults"
    return Finding("settings", "ok", text), layered


def _models(paths: Paths, settings: Settings) -> Finding:
    catalogue = Catalogue(paths.models, map(Path, settings.model.folders))
    entries = catalogue.entries()
    usable = [entry.name for entry in entries if entry.facts is not None]
    if not usable:
        return Finding("models", "fail", "no usable model", "`homeai models add FILE`")
    active = settings.model.active
    chosen = catalogue.find(active) if active else None
    if active and (chosen is None or chosen.facts is None):
        text = f"the chosen model {Path(active).name!r} is missing or cannot be used"
        return Finding("models", "fail", text, "`homeai settings set model.active NAME`")
    broken = [entry.name for entry in entries if entry.facts is None]
    if broken:
        text = f"usable: {', '.join(usable)}; cannot be used: {', '.join(broken)}"
        return Finding("models", "warn", text, "`homeai models list` says why.")
    return Finding("models", "ok", ", ".join(usable))


def _memory() -> Finding:
    memory = ram.probe()
    text = f"{memory.available_bytes / _GIB:.1f} of {memory.total_bytes / _GIB:.1f} GiB available"
    if memory.available_bytes > _GIB:
        return Finding("memory", "ok", text)
    return Finding("memory", "warn", text, "Close other programs, or choose a smaller model.")


def _disk(paths: Paths) -> Finding:
    folder = _nearest(paths.data)
    try:
        free = shutil.disk_usage(folder).free
    except OSError as error:
        return Finding("disk", "fail", f"cannot be asked: {error.strerror}", "Check the disk.")
    text = f"{free / _GIB:.1f} GiB free for models"
    if free > _LEAST_DISK:
        return Finding("disk", "ok", text)
    return Finding("disk", "warn", text, "Make room, or put models elsewhere (model.folders).")


def _port(paths: Paths, settings: Settings) -> Finding:
    core = corefile.read(paths.core_file)
    if core is not None:
        return Finding("service", "ok", f"runs at {core.url}")
    port, host = settings.server.port, settings.server.host
    if not is_loopback(host):
        host = "127.0.0.1"  # where it would answer as well, or at least not disturb others
    try:
        with socket.create_connection((host, port), _PROBE_S):
            taken = port != 0
    except OSError:
        taken = False
    if taken:
        remedy = "Choose another: `homeai settings set server.port 8485`."
        return Finding("service", "warn", f"port {port} is taken by another program", remedy)
    return Finding("service", "ok", f"not running; port {port} is free")


def _folders(paths: Paths) -> Finding:
    named = {
        "config": paths.config,
        "data": paths.data,
        "cache": paths.cache,
        "logs": paths.logs,
        "runtime": paths.runtime,
    }
    locked = [
        n for n, folder in named.items() if not os.access(_nearest(folder), os.W_OK | os.X_OK)
    ]
    if locked:
        text = f"homeai cannot write: {', '.join(locked)}"
        return Finding("folders", "fail", text, "Give yourself the right to write there.")
    if sys.platform == "win32":
        return Finding("folders", "ok", "folders are protected by the user account")
    loose = [n for n, folder in named.items() if folder.is_dir() and _open_to_others(folder)]
    if loose:
        where = " ".join(f"'{named[name]}'" for name in loose)
        return Finding(
            "folders", "warn", f"others can look into: {', '.join(loose)}", f"chmod 700 {where}"
        )
    return Finding("folders", "ok", "only you can read homeai's folders")


def _nearest(folder: Path) -> Path:
    """The folder, or the first of its parents that exists."""
    return next(part for part in (folder, *folder.parents) if part.exists())


def _open_to_others(folder: Path) -> bool:
    return bool(folder.stat().st_mode & 0o077)
