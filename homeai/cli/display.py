"""Whether a window could be shown here."""

from __future__ import annotations

import re
import socket
import sys
from collections.abc import Mapping
from pathlib import Path

_X11_PORT = 6000
_X11_SOCKETS = "/tmp/.X11-unix"  # noqa: S108 -- the X server's own place
_TIMEOUT_S = 2.0
_DISPLAY = re.compile(r"(?P<host>[^:/]*):(?P<number>\d{1,4})(\.\d+)?")


def has_display(environment: Mapping[str, str], platform: str = sys.platform) -> bool:
    """Whether Qt would find a screen; it ends the process if it finds none.

    A DISPLAY that nobody answers (a closed session, a terminal multiplexer) counts as none.
    """
    if platform in {"darwin", "win32"} or environment.get("QT_QPA_PLATFORM"):
        return True
    wayland = environment.get("WAYLAND_DISPLAY")
    if wayland:
        place = Path(environment.get("XDG_RUNTIME_DIR", "/")) / wayland
        if _answers(socket.AF_UNIX, str(place)):
            return True
    return _x11_answers(environment.get("DISPLAY", ""))


def _x11_answers(display: str) -> bool:
    match = _DISPLAY.fullmatch(display)
    if match is None:
        return display.startswith("/") and Path(display.partition(":")[0]).exists()
    if match["host"] in {"", "unix"}:
        place = f"{_X11_SOCKETS}/X{match['number']}"
        # the second one is Linux's abstract name, which needs no file
        return any(_answers(socket.AF_UNIX, one) for one in (place, f"\0{place}"))
    address = (match["host"], _X11_PORT + int(match["number"]))
    try:
        socket.create_connection(address, _TIMEOUT_S).close()
    except OSError:
        return False
    return True


def _answers(family: int, address: str) -> bool:
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.settimeout(_TIMEOUT_S)
        try:
            probe.connect(address)
        except OSError:
            return False
        return True
