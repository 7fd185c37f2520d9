"""The command and environment of a worker process."""

from __future__ import annotations

from collections.abc import Mapping

from homeai.settings.program import worker_program
from homeai.supervisor.transport import Launch

_SECRET_PARTS = ("KEY", "TOKEN", "SECRET", "PASSWORD")

_HIDDEN_DRIVERS = {
    "CUDA_VISIBLE_DEVICES": "",
    "HIP_VISIBLE_DEVICES": "",
    "GGML_VK_VISIBLE_DEVICES": "",
    "GGML_DISABLE_VULKAN": "1",
}


_SPIN_ALONE, _SPIN_BESIDE = "20000", "1000"
"""How often a thread of the engine looks for work before it sleeps. Short is right where two workers
compute on the same cores: spinning threads of one starve the other. One worker alone answers some 10 %
faster with more, and still sleeps within a third of a millisecond: longer would starve it beside a
program that keeps a core busy."""


def worker_launch(
    environment: Mapping[str, str],
    *,
    device: str,
    profile: str,
    alone: bool = True,
) -> Launch:
    """Return how to start a worker.

    Args:
        environment: The core's own; what looks like a secret is not handed on.
        device: `cpu` hides every accelerator driver, so that a sick one is not even opened.
        profile: `fast` | `exact`.
        alone: No other worker computes on this machine's cores.
    """
    passed = {
        name: value
        for name, value in environment.items()
        if not any(part in name.upper() for part in _SECRET_PARTS)
    }
    passed.setdefault("GGML_NO_BACKTRACE", "1")
    passed.setdefault("GOMP_SPINCOUNT", _SPIN_ALONE if alone else _SPIN_BESIDE)
    if device == "cpu":
        passed |= _HIDDEN_DRIVERS
    if profile == "exact":
        passed["GGML_CPU_TILED_MM"] = "0"
    return Launch(worker_program(), passed)
