"""Facts about the machine and the versions that take part, for the JSON file."""

from __future__ import annotations

import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import psutil

from homeai.settings.paths import Paths

STARTER_MODEL = "SmolLM2-135M-Instruct.Q4_1.gguf"


def starter_model() -> Path | None:
    """The model to measure with: `HOMEAI_TEST_MODEL`, else the starter model if it was fetched."""
    given = os.environ.get("HOMEAI_TEST_MODEL")
    if given:
        return Path(given)
    path = Paths.from_environment(os.environ).models / STARTER_MODEL
    return path if path.is_file() else None


def processor_name() -> str:
    """The processor's own name."""
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
    except FileNotFoundError:
        return platform.processor() or platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def facts() -> dict[str, Any]:
    """Processor, cores, memory, system, load."""
    return {
        "processor": processor_name(),
        "cores": psutil.cpu_count(logical=False) or os.cpu_count(),
        "memory_gib": round(psutil.virtual_memory().total / 2**30),
        "system": platform.platform(terse=True),
        "python": platform.python_version(),
        "load_average": [round(load, 2) for load in psutil.getloadavg()],
    }


def versions(*packages: str) -> dict[str, str]:
    """Versions of installed packages; one that is not installed is left out."""
    found = {}
    for package in packages:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found
