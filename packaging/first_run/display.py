"""Is there a screen for a window?"""

from __future__ import annotations

import contextlib
import os
import re
import socket
import sys
from collections.abc import Mapping

X11_BASE_PORT = 6000
TIMEOUT_S = 2.0
LOCAL_SOCKETS = "/tmp/.X11-unix"  # noqa: S108 - the X server's own place


def has_display(environment: Mapping[str, str] | None = None, platform: str = sys.platform) -> bool:
    """Whether a window could be shown here.

    A DISPLAY that nobody answers (a closed session, a terminal multiplexer) counts as none.
    """
    env = os.environ if environment is None else environment
    if platform in {"darwin", "win32"}:
        return True
    if env.get("QT_QPA_PLATFORM", "").split(":")[0] in {"offscreen", "minimal", "vnc"}:
        return True
    if env.get("WAYLAND_DISPLAY"):
        return True
    return _x11_answers(env.get("DISPLAY", ""))


def _x11_answers(display: str) -> bool:
    match = re.fullmatch(r"(?P<host>[^:]*):(?P<number>\d+)(\.\d+)?", display)
    if match is None:
        # Launchd and others give a path; what can't be judged here is left to Qt.
        return display.startswith("/") and os.path.exists(display.partition(":")[0])
    number = int(match["number"])
    if match["host"] in {"", "unix"}:
        places = [f"{LOCAL_SOCKETS}/X{number}", f"\0{LOCAL_SOCKETS}/X{number}"]
        return any(_connects(socket.AF_UNIX, place) for place in places)
    with contextlib.suppress(OSError):
        address = (match["host"], X11_BASE_PORT + number)
        socket.create_connection(address, TIMEOUT_S).close()
        return True
    return False


def _connects(family: int, address: str) -> bool:
    with socket.socket(family, socket.SOCK_STREAM) as sock:
        sock.settimeout(TIMEOUT_S)
        return sock.connect_ex(address) == 0
