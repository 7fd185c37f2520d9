"""Environment that native libraries read once, when they load."""

from __future__ import annotations

import os


def prepare_environment(profile: str) -> None:
    """Set what native libraries read once when they load; values the user set stay.

    Args:
        profile: `fast` | `exact`.
    """
    os.environ.setdefault("GGML_NO_BACKTRACE", "1")  # else an abort forks a debugger and hangs
    os.environ.setdefault("GOMP_SPINCOUNT", "1000")  # else two workers' threads starve each other
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # numpy's BLAS is not used for the model
    if profile == "exact":
        os.environ["GGML_CPU_TILED_MM"] = "0"
