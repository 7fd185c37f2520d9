"""Where files live on each operating system; `HOMEAI_HOME` moves them all."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import platformdirs
from platformdirs.api import PlatformDirsABC

HOME_VARIABLE = "HOMEAI_HOME"
_APP = "homeai"


@dataclass(frozen=True, slots=True)
class Paths:
    """Folders and files of one user's homeai.

    Attributes:
        config: Settings.
        data: Keys, models, conversations.
        cache: What can be made again.
        logs: Log files.
        runtime: What lives only while a process runs.
    """

    config: Path
    data: Path
    cache: Path
    logs: Path
    runtime: Path

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> Paths:
        """Return the folders for this user, or all of them under `HOMEAI_HOME`."""
        if home := environment.get(HOME_VARIABLE):
            root = Path(home).expanduser().absolute()
            return cls(root / "config", root / "data", root / "cache", root / "logs", root / "run")
        dirs = platformdirs.PlatformDirs(_APP, appauthor=False)
        return cls(
            dirs.user_config_path,
            dirs.user_data_path,
            dirs.user_cache_path,
            dirs.user_log_path,
            _runtime_folder(environment, dirs),
        )

    @property
    def settings_file(self) -> Path:
        """The TOML file."""
        return self.config / "settings.toml"

    @property
    def keys_file(self) -> Path:
        """API keys, hashed."""
        return self.data / "keys.json"

    @property
    def models(self) -> Path:
        """Folder of model files."""
        return self.data / "models"

    @property
    def core_file(self) -> Path:
        """Address, token and pid of the running core."""
        return self.runtime / "core.json"


def private_folder(folder: Path) -> Path:
    """Make a folder only its owner can read, if it is missing; returns it.

    Missing parents are made private as well, as the XDG base directory specification asks.

    Raises:
        OSError: It cannot be made.
    """
    for missing in reversed([part for part in (folder, *folder.parents) if not part.is_dir()]):
        missing.mkdir(mode=0o700, exist_ok=True)
    return folder


def _runtime_folder(environment: Mapping[str, str], dirs: PlatformDirsABC) -> Path:
    if sys.platform in {"win32", "darwin"}:
        return dirs.user_runtime_path
    given = environment.get("XDG_RUNTIME_DIR", "")
    if given.startswith("/") and _is_mine_alone(Path(given)):
        return Path(given) / _APP
    # Root shells, cron and containers have none. A folder in /tmp could be another user's trap for
    # the token, so the user's own state folder serves.
    return dirs.user_state_path / "run"


def _is_mine_alone(folder: Path) -> bool:
    try:
        status = folder.lstat()
    except OSError:
        return False
    return (
        stat.S_ISDIR(status.st_mode) and status.st_uid == os.getuid() and not status.st_mode & 0o077
    )
