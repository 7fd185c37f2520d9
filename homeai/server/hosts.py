"""By which names this computer may be called, and which web pages may ask. Pure.

A page anywhere on the web can make a browser send requests to a home server. Its Host header (after DNS
rebinding) or its Origin header gives it away.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Iterable

ASK_AGAIN_S = 5.0
_AUTHORITY = re.compile(r"(\[[0-9A-Fa-f:.]+(?:%[\w.~-]+)?\]|[^\[\]:@/?#\\\s]+)(?::(\d{0,5}))?")
_LAST_PORT = 65535
_PORTS = {"http": 80, "https": 443}
_LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})


def split_host(value: str) -> str | None:
    """Return the host of a Host header in canonical form: lower case, no port, no brackets.

    None if it is no valid Host header.
    """
    match = _AUTHORITY.fullmatch(value)
    if match is None or int(match[2] or 0) > _LAST_PORT:
        return None
    host = canonical(match[1])
    if match[1].startswith("[") and ":" not in host:
        return None
    return host or None


def port_of(value: str) -> int | None:
    """Return the port of a valid Host header, None without one."""
    match = _AUTHORITY.fullmatch(value)
    return int(match[2]) if match is not None and match[2] else None


def canonical(host: str) -> str:
    """One spelling for each host: addresses in their short form, names lower case without final dot."""
    host = host.strip("[]").lower().rstrip(".").split("%", 1)[0]
    try:
        return str(ipaddress.ip_address(host))
    except ValueError:
        return host


class HostRules:
    """Names that are ours.

    Args:
        own: This computer's names and LAN addresses; counted only with `lan`.
        extra: `server.allowed_hosts`.
        origins: `server.allowed_origins`.
        lan: Whether other devices may come in.
        own_now: Asks for `own` again when an unknown name comes, since addresses change with the
            network; at most once every `ASK_AGAIN_S` seconds.
        clock: Monotonic seconds.
    """

    def __init__(
        self,
        own: Iterable[str],
        extra: Iterable[str],
        origins: Iterable[str],
        *,
        lan: bool,
        own_now: Callable[[], Iterable[str]] | None = None,
        clock: Callable[[], float] = float,
    ) -> None:
        self._fixed = set(_LOOPBACK_NAMES) | {split_host(name) or canonical(name) for name in extra}
        self._names = self._fixed | (set(map(canonical, own)) if lan else set())
        self._own_now, self._clock = own_now if lan else None, clock
        self._asked_at = clock()
        self._origins = {origin.rstrip("/").lower() for origin in origins}

    def knows(self, host_header: str) -> bool:
        """Whether the Host header names this computer."""
        host = split_host(host_header)
        if host is None:
            return False
        if host in self._names or host in self._names_now():
            return True
        try:  # the whole 127.0.0.0/8 block means this computer
            return ipaddress.ip_address(host).is_loopback
        except ValueError:
            return False

    def _names_now(self) -> set[str]:
        now = self._clock()
        if self._own_now is not None and now - self._asked_at >= ASK_AGAIN_S:
            self._asked_at = now
            self._names = self._fixed | set(map(canonical, self._own_now()))
        return self._names

    def allows_origin(self, origin: str, host_header: str) -> bool:
        """Whether a page of that origin may ask: our own pages and the allowed ones."""
        if self.is_listed_origin(origin):
            return True
        page_scheme, found, authority = origin.lower().partition("://")
        if not found or page_scheme not in _PORTS or not self.knows(host_header):
            return False
        # a proxy may have added https on the way, so the page's own scheme gives the port
        usual = _PORTS[page_scheme]
        return split_host(authority) == split_host(host_header) and (
            port_of(authority) or usual
        ) == (port_of(host_header) or usual)

    def is_listed_origin(self, origin: str) -> bool:
        """Whether the origin is one of `server.allowed_origins`, which get CORS headers."""
        return origin.rstrip("/").lower() in self._origins
