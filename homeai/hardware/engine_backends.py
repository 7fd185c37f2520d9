"""Which accelerators the installed engine was built for, from its files: nothing of it is loaded."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

_NAME = re.compile(r"(?:lib)?ggml-([a-z]+)(?:\.|-|$)")
_NO_ACCELERATORS = frozenset({"base", "cpu", "blas", "rpc"})


def accelerator_backends(folder: Path | None = None) -> list[str]:
    """Return names such as `cuda` | `vulkan` | `metal` | `hip`, sorted; empty for a CPU build.

    Args:
        folder: The engine's libraries; None = of the installed one.
    """
    if folder is None:
        found = importlib.util.find_spec("llama_cpp")
        if found is None or found.origin is None:
            return []
        folder = Path(found.origin).parent / "lib"
    try:
        names = [match[1] for file in folder.iterdir() if (match := _NAME.match(file.name))]
    except OSError:
        return []
    return sorted(set(names) - _NO_ACCELERATORS)
