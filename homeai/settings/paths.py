"""Where files live on each operating system; `HOMEAI_HOME` moves them all."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import platformdirs

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
            dirs.user_runtime_path,
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
    """Make a folder only its owner can read, if it is missing; returns it."""
    if not folder.is_dir():
        folder.parent.mkdir(parents=True, exist_ok=True)
        folder.mkdir(mode=0o700, exist_ok=True)
    return folder
