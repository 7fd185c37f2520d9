"""What an address to listen on may look like, and whether it is this computer's own."""

from __future__ import annotations

import ipaddress
import re

_LABEL = r"(?!-)[\w-]{1,63}(?<!-)"
_HOST_NAME = re.compile(rf"{_LABEL}(?:\.{_LABEL})*\.?")
_LONGEST_NAME = 253


def parse_host(value: object) -> object:
    """Return the text without surrounding space if it is an IP address or a host name."""
    if not isinstance(value, str):
        return value
    host = value.strip()
    if not _is_address(host) and not _is_name(host):
        raise ValueError("an IP address such as 192.168.1.20 or a host name")
    return host


def is_loopback(host: str) -> bool:
    """Whether `host` means this computer only."""
    if host.lower().rstrip(".") == "localhost":
        return True
    return _is_address(host) and ipaddress.ip_address(host).is_loopback


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def _is_name(host: str) -> bool:
    if len(host) > _LONGEST_NAME or not _HOST_NAME.fullmatch(host):
        return False
    # "0" and "127.1" are no names: the resolver of C reads them as old spellings of an address.
    return not host.rstrip(".").rpartition(".")[2].isdecimal()
