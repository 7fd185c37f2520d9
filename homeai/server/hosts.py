"""By which names this computer may be called, and which web pages may ask. Pure.

A page anywhere on the web can make a browser send requests to a home server. Its Host header (after DNS
rebinding) or its Origin header gives it away.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from urllib.parse import urlsplit

_LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})


def split_host(value: str) -> str | None:
    """Return the host of a Host header in canonical form: lower case, no port, no brackets.

    None if it is no valid Host header.
    """
    if value != value.strip() or "@" in value or "/" in value:
        return None
    try:
        parts = urlsplit(f"//{value}")
        _ = parts.port  # raises for a port that is none
    except ValueError:
        return None
    host = parts.hostname
    return canonical(host) if host and not parts.path and not parts.query else None


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
    """

    def __init__(
        self, own: Iterable[str], extra: Iterable[str], origins: Iterable[str], *, lan: bool
    ) -> None:
        names = set(_LOOPBACK_NAMES) | set(map(canonical, extra))
        if lan:
            names |= set(map(canonical, own))
        self._names = names
        self._origins = {origin.rstrip("/").lower() for origin in origins}

    def knows(self, host_header: str) -> bool:
        """Whether the Host header names this computer."""
        host = split_host(host_header)
        if host is None:
            return False
        if host in self._names:
            return True
        try:  # the whole 127.0.0.0/8 block means this computer
            return ipaddress.ip_address(host).is_loopback
        except ValueError:
            return False

    def allows_origin(self, origin: str, host_header: str, scheme: str) -> bool:
        """Whether a page of that origin may ask: our own pages and the allowed ones."""
        wanted = origin.rstrip("/").lower()
        if wanted in self._origins:
            return True
        return wanted == f"{scheme}://{host_header}".lower() and self.knows(host_header)

    def is_listed_origin(self, origin: str) -> bool:
        """Whether the origin is one of `server.allowed_origins`, which get CORS headers."""
        return origin.rstrip("/").lower() in self._origins
