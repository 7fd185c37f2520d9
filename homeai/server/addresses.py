"""Names and addresses by which the LAN reaches this computer."""

from __future__ import annotations

import socket

import psutil


def own_names() -> list[str]:
    """Host names, with and without `.local`, and the addresses of all interfaces."""
    name = socket.gethostname()
    short = name.split(".")[0]
    addresses = [
        address.address.split("%")[0]
        for interface in psutil.net_if_addrs().values()
        for address in interface
        if address.family in (socket.AF_INET, socket.AF_INET6)
    ]
    return [name, short, f"{short}.local", *addresses]
