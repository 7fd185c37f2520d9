"""Where things lie: the checkout, its virtual environment, and the caches outside the tree."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[2]


def user_cache_folder() -> Path:
    """The folder for homeai's downloads and builds; nothing in it is ever needed to exist."""
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData/Local")
        return base / "homeai" / "Cache"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "homeai"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "homeai"


@dataclass(frozen=True, slots=True)
class Places:
    """All folders the set-up writes to.

    Attributes:
        checkout: The source tree.
        wheels: Compiled wheels of llama-cpp-python, one folder a key (HOMEAI_WHEEL_CACHE).
        downloads: The starter model's wheel.
    """

    checkout: Path
    wheels: Path
    downloads: Path

    @classmethod
    def from_environment(cls) -> Places:
        """Places of this user on this machine."""
        cache = user_cache_folder()
        wheels = os.environ.get("HOMEAI_WHEEL_CACHE")
        return cls(
            checkout=CHECKOUT,
            wheels=Path(wheels).expanduser().resolve() if wheels else cache / "wheels",
            downloads=cache / "downloads",
        )

    @property
    def venv(self) -> Path:
        """The virtual environment."""
        return self.checkout / ".venv"

    @property
    def python(self) -> Path:
        """The virtual environment's interpreter."""
        if sys.platform == "win32":
            return self.venv / "Scripts" / "python.exe"
        return self.venv / "bin" / "python"

    @property
    def logs(self) -> Path:
        """Logs of the steps, kept to be read after a failure."""
        return self.checkout / ".bootstrap"

    @property
    def constraints(self) -> Path:
        """The pins of every dependency."""
        return self.checkout / "packaging" / "constraints.txt"
