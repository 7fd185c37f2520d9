"""llama.cpp's C interface as this project uses it: one import, one log callback, one place for traps.

The package's own log callback maps llama.cpp's levels wrongly and drops errors when it is quiet, so
ours is installed right after the import and kept for the life of the process.
"""

from __future__ import annotations

import ctypes
from collections import deque

import llama_cpp.llama_cpp as c

_DEBUG, _WARNING, _ERROR, _CONTINUED = 1, 3, 4, 5
_KEPT_LINES = 400


class NativeLog:
    """Ring of llama.cpp's own messages of level INFO and above.

    Pieces of one line arrive separately (level 5 = continuation) and are kept as they come; a reader
    joins them. The callback never raises and only appends, since it is called from native threads.
    """

    def __init__(self) -> None:
        self._lines: deque[tuple[int, str]] = deque(maxlen=_KEPT_LINES)
        self._last_level = 0

    def append(self, level: int, text: bytes) -> None:
        """Keep one piece of a message."""
        if level == _CONTINUED:
            level = self._last_level
        self._last_level = level
        if level > _DEBUG:
            self._lines.append((level, text.decode("utf-8", "replace")))

    def clear(self) -> None:
        """Forget everything; called before a step whose messages will be looked at."""
        self._lines.clear()

    def text(self) -> str:
        """All kept messages in order."""
        return "".join(line for _, line in self._lines)

    def errors(self) -> str:
        """Kept messages of level WARNING and ERROR."""
        return "".join(line for level, line in self._lines if level in (_WARNING, _ERROR))


LOG = NativeLog()


def _on_native_log(level: int, text: bytes, _user_data: object) -> None:
    LOG.append(level, text)


# kept for the life of the process: native code holds the pointer
_NATIVE_CALLBACK = c.llama_log_callback(_on_native_log)
c.llama_log_set(_NATIVE_CALLBACK, ctypes.c_void_p(0))
c.llama_backend_init()

FLASH_ATTENTION_ON = 1
SPLIT_MODE_NONE = 0
NO_GPU = -1
TYPE_F16, TYPE_Q8_0 = 1, 8
KV_TYPES = {"f16": TYPE_F16, "q8_0": TYPE_Q8_0}
NO_GPU_LAYERS = 0
TOKEN_ATTR_UNKNOWN, TOKEN_ATTR_CONTROL = 1 << 0, 1 << 3


def fingerprint() -> str:
    """Engine version and processor features; equal strings mean the same arithmetic."""
    version = c.llama_version().decode("utf-8", "replace")
    return f"{version} | {c.llama_print_system_info().decode('utf-8', 'replace').strip()}"
