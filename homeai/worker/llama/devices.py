"""ggml's devices: loads backend plugins and tells what there is."""

from __future__ import annotations

import ctypes
import os
import stat
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import llama_cpp

from homeai.domain.errors import WorkerFailed

_KINDS = {0: "cpu", 1: "gpu", 2: "igpu", 3: "accel"}
_NAMES = {
    "linux": ("libggml.so.0", "libggml-base.so.0"),
    "darwin": ("libggml.0.dylib", "libggml-base.0.dylib"),
}
_WINDOWS = ("ggml.dll", "ggml-base.dll")


@dataclass(frozen=True, slots=True)
class Device:
    """A device as ggml lists it.

    Attributes:
        kind: `cpu` | `gpu` | `igpu` | `accel`.
        free_bytes: What the driver says; for some drivers it is always the total.
    """

    name: str
    description: str
    kind: str
    total_bytes: int
    free_bytes: int

    @property
    def is_accelerator(self) -> bool:
        """Whether layers can be put there."""
        return self.kind in ("gpu", "igpu")


def _library(index: int) -> ctypes.CDLL:
    folder = Path(llama_cpp.__file__).parent / "lib"
    name = _NAMES.get(sys.platform, _WINDOWS)[index]
    return ctypes.CDLL(os.fspath(folder / name))


def load_backends(paths: Sequence[str]) -> None:
    """Load ggml backend plugins; before the first model.

    Raises:
        WorkerFailed: A path that is no readable file, or that ggml does not accept.
    """
    if not paths:
        return
    load = _library(0).ggml_backend_load
    load.restype, load.argtypes = ctypes.c_void_p, [ctypes.c_char_p]
    for number, path in enumerate(paths, 1):
        which = f"The backend plugin number {number} (gpu.backends)"
        if not Path(path).is_absolute():
            raise WorkerFailed(f"{which} is not an absolute path.")
        try:
            regular = stat.S_ISREG(Path(path).stat().st_mode)
        except OSError as error:
            raise WorkerFailed(f"{which} cannot be opened: {error.strerror}.") from error
        if not regular:
            raise WorkerFailed(f"{which} is no file.")
        if not load(os.fsencode(path)):
            raise WorkerFailed(f"{which} is none that this engine accepts.")


def devices() -> list[Device]:
    """All devices, in ggml's order. Asks the drivers for their memory."""
    base, ggml = _library(1), _library(0)
    count, get = ggml.ggml_backend_dev_count, ggml.ggml_backend_dev_get
    count.restype, get.restype, get.argtypes = ctypes.c_size_t, ctypes.c_void_p, [ctypes.c_size_t]
    name, text = base.ggml_backend_dev_name, base.ggml_backend_dev_description
    kind, memory = base.ggml_backend_dev_type, base.ggml_backend_dev_memory
    for function in (name, text):
        function.restype, function.argtypes = ctypes.c_char_p, [ctypes.c_void_p]
    kind.restype, kind.argtypes = ctypes.c_int, [ctypes.c_void_p]
    size = ctypes.POINTER(ctypes.c_size_t)
    memory.restype, memory.argtypes = None, [ctypes.c_void_p, size, size]
    found = []
    for index in range(count()):
        handle = get(index)
        free, total = ctypes.c_size_t(), ctypes.c_size_t()
        memory(handle, ctypes.byref(free), ctypes.byref(total))
        found.append(
            Device(
                (name(handle) or b"").decode("utf-8", "replace"),
                (text(handle) or b"").decode("utf-8", "replace"),
                _KINDS.get(kind(handle), "accel"),
                total.value,
                free.value,
            )
        )
    return found
