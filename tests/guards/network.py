"""Guard: Python code under test reaches nothing but this machine."""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Iterator

import pytest

LOCAL_NAMES = frozenset({"", "localhost", "ip6-localhost", socket.gethostname()})


def _is_local(host: str | bytes | None) -> bool:
    if host is None:
        return True
    name = host.decode() if isinstance(host, bytes) else host
    if name in LOCAL_NAMES:
        return True
    try:
        return ipaddress.ip_address(name.partition("%")[0]).is_loopback
    except ValueError:
        return False


def _refuse(host: object) -> None:
    msg = f"the test tried to reach {host!r}; tests may only use loopback"
    # Not an OSError: code that copes with a lost network must not swallow this.
    raise AssertionError(msg)


def _check(sock: socket.socket, address: object) -> None:
    internet = sock.family in (socket.AF_INET, socket.AF_INET6)
    # Connecting a datagram socket sends nothing: it is how a program learns its own address.
    if internet and sock.type & socket.SOCK_STREAM and not _is_local(address[0]):
        _refuse(address[0])


@pytest.fixture(autouse=True, scope="session")
def only_loopback() -> Iterator[None]:
    """Refuse stream connections, datagrams and name look-ups that leave the machine."""
    connect, connect_ex, sendto = (
        socket.socket.connect,
        socket.socket.connect_ex,
        socket.socket.sendto,
    )
    getaddrinfo = socket.getaddrinfo

    def guarded_connect(self: socket.socket, address: object) -> None:
        _check(self, address)
        return connect(self, address)

    def guarded_connect_ex(self: socket.socket, address: object) -> int:
        _check(self, address)
        return connect_ex(self, address)

    def guarded_sendto(self: socket.socket, data: bytes, *rest: object) -> int:
        if self.family in (socket.AF_INET, socket.AF_INET6) and not _is_local(rest[-1][0]):
            _refuse(rest[-1][0])
        return sendto(self, data, *rest)

    def guarded_getaddrinfo(host: str | bytes | None, *args: object, **kwargs: object) -> list:
        if not (_is_local(host) or _is_literal(host)):
            _refuse(host)
        return getaddrinfo(host, *args, **kwargs)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(socket.socket, "connect", guarded_connect)
        patch.setattr(socket.socket, "connect_ex", guarded_connect_ex)
        patch.setattr(socket.socket, "sendto", guarded_sendto)
        patch.setattr(socket, "getaddrinfo", guarded_getaddrinfo)
        yield


def _is_literal(host: str | bytes | None) -> bool:
    """An address written as numbers is looked up without a name server."""
    try:
        ipaddress.ip_address(host.decode() if isinstance(host, bytes) else host)
    except ValueError:
        return False
    return True
