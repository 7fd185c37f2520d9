"""Token ids on the wire: little-endian int32, since a prompt can hold many thousands."""

from __future__ import annotations

import sys
from array import array
from collections.abc import Iterable


def ids_to_bytes(ids: Iterable[int]) -> bytes:
    """Pack token ids as little-endian int32."""
    packed = array("i", ids)
    if sys.byteorder == "big":
        packed.byteswap()
    return packed.tobytes()


def bytes_to_ids(data: bytes) -> list[int]:
    """Unpack what `ids_to_bytes` packed."""
    packed = array("i")
    packed.frombytes(data)
    if sys.byteorder == "big":
        packed.byteswap()
    return packed.tolist()
