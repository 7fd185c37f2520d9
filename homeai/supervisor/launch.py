"""The command and environment of a worker process."""

from __future__ import annotations

import sys
from collections.abc import Mapping

from homeai.supervisor.transport import Launch

_SECRET_PARTS = ("KEY", "TOKEN", "SECRET", "PASSWORD")

_HIDDEN_DRIVERS = {
    "CUDA_VISIBLE_DEVICES": "",
    "HIP_VISIBLE_DEVICES": "",
    "GGML_VK_VISIBLE_DEVICES": "",
    "GGML_DISABLE_VULKAN": "1",
}


def worker_launch(
    environment: Mapping[str, str], *, device: str, profile: str, frozen: bool = False
) -> Launch:
    """Return how to start a worker.

    Args:
        environment: The core's own; what looks like a secret is not handed on.
        device: `cpu` hides every accelerator driver, so that a sick one is not even opened.
        profile: `fast` | `exact`.
        frozen: The program is a packaged executable without `python -m`.
    """
    passed = {
        name: value
        for name, value in environment.items()
        if not any(part in name.upper() for part in _SECRET_PARTS)
    }
    passed.setdefault("GGML_NO_BACKTRACE", "1")
    passed.setdefault("GOMP_SPINCOUNT", "1000")
    if device == "cpu":
        passed |= _HIDDEN_DRIVERS
    if profile == "exact":
        passed["GGML_CPU_TILED_MM"] = "0"
    command = [sys.executable, "worker"] if frozen else [sys.executable, "-m", "homeai.worker.main"]
    return Launch(command, passed)
