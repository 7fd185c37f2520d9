"""Reads the header of a GGUF file (versions 2 and 3): metadata and tensor table, nothing else.

Every count and length is checked against what the file can hold before memory is taken, so a hostile
file costs no more than its own header. Format: ggml's docs/gguf.md.
"""

from __future__ import annotations

import mmap
import struct
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

from homeai.models.engine_facts import TENSOR_TYPES
from homeai.models.problems import ModelFileError, not_gguf, zero_region

MAGIC = b"GGUF"
_STRING, _ARRAY = 8, 9
_SCALARS: dict[int, struct.Struct] = {
    0: struct.Struct("<B"),
    1: struct.Struct("<b"),
    2: struct.Struct("<H"),
    3: struct.Struct("<h"),
    4: struct.Struct("<I"),
    5: struct.Struct("<i"),
    6: struct.Struct("<f"),
    7: struct.Struct("<?"),
    10: struct.Struct("<Q"),
    11: struct.Struct("<q"),
    12: struct.Struct("<d"),
}
_U32, _U64 = _SCALARS[4], _SCALARS[10]
_KEPT_ARRAY = 64
_MAX_DIMENSIONS = 4
_MAX_KEYS, _MAX_TENSORS = 65_536, 1_000_000


@dataclass(frozen=True, slots=True)
class LongArray:
    """Stands for an array that was skipped, such as the vocabulary."""

    length: int


@dataclass(frozen=True, slots=True)
class Tensor:
    """One entry of the tensor table.

    Attributes:
        offset: First byte in the file.
        size_bytes: Bytes of its data.
    """

    name: str
    shape: tuple[int, ...]
    type_name: str
    offset: int
    size_bytes: int


@dataclass(frozen=True, slots=True)
class Header:
    """What the file says of itself.

    Attributes:
        metadata: Values by key; arrays longer than 64 are `LongArray`.
        file_bytes: Size of the file.
    """

    version: int
    metadata: dict[str, Any]
    tensors: tuple[Tensor, ...]
    file_bytes: int


def read_header(path: Path, *, check_data: bool = True) -> Header:
    """Read and check a header.

    Args:
        path: The file.
        check_data: Also require that all tensor data is there and not blank.

    Raises:
        ModelFileError: What is wrong, in a sentence.
    """
    try:
        with path.open("rb") as file:
            head = file.read(64)
            if head[:4] != MAGIC:
                raise not_gguf(head)
            if len(head) < 24:
                raise _cut(len(head))
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
                return _Reader(data).header(check_data=check_data)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise ModelFileError("unreadable", f"The file cannot be read: {reason}.") from error


def _cut(at: int) -> ModelFileError:
    return ModelFileError(
        "truncated",
        f"The file ends inside its header, after {at} bytes: the download is incomplete.",
    )


class _Reader:
    """A cursor over the mapped file."""

    def __init__(self, data: mmap.mmap) -> None:
        self._data, self._at, self._size = data, len(MAGIC), len(data)

    def header(self, *, check_data: bool) -> Header:
        version = self._scalar(_U32)
        if version & 0xFFFF == 0 and version:
            raise ModelFileError(
                "big_endian", "The file was made for big-endian computers and cannot be used here."
            )
        if version not in (2, 3):
            raise ModelFileError(
                "unsupported_version",
                f"The file has GGUF version {version}; 2 and 3 are supported.",
            )
        tensor_count, key_count = self._count(_MAX_TENSORS), self._count(_MAX_KEYS)
        metadata = {}
        for _ in range(key_count):
            key = self._string()
            metadata[key] = self._value(self._scalar(_U32))
        alignment = metadata.get("general.alignment", 32)
        if not isinstance(alignment, int) or alignment < 1 or alignment & (alignment - 1):
            raise _damaged(f"alignment {alignment!r} is no power of two")
        entries = [self._tensor() for _ in range(tensor_count)]
        base = -(-self._at // alignment) * alignment
        tensors = tuple(
            Tensor(t.name, t.shape, t.type_name, base + t.offset, t.size_bytes) for t in entries
        )
        if check_data:
            self._check_data(tensors)
        return Header(version, metadata, tensors, self._size)

    def _scalar(self, kind: struct.Struct) -> Any:  # noqa: ANN401 -- a number, bool or float
        if self._at + kind.size > self._size:
            raise _cut(self._size)
        (value,) = kind.unpack_from(self._data, self._at)
        self._at += kind.size
        return value

    def _count(self, most: int) -> int:
        count: int = self._scalar(_U64)
        if count > most:
            raise _damaged(f"it counts {count} entries, at most {most} are plausible")
        return count

    def _string(self) -> str:
        size: int = self._scalar(_U64)
        end = self._at + size
        if end > self._size:
            raise _cut(self._size)
        raw = self._data[self._at : end]
        self._at = end
        return raw.decode("utf-8", "replace")

    def _value(self, kind: int) -> Any:  # noqa: ANN401 -- whatever the file holds
        if kind == _STRING:
            return self._string()
        if kind == _ARRAY:
            return self._array()
        if kind not in _SCALARS:
            raise _damaged(f"a value has the unknown type {kind}")
        return self._scalar(_SCALARS[kind])

    def _array(self) -> Any:  # noqa: ANN401 -- list or LongArray
        kind, length = self._scalar(_U32), self._scalar(_U64)
        if length > self._size:  # every element takes a byte at least
            raise _cut(self._size)
        if kind in _SCALARS:
            size = _SCALARS[kind].size * length
            if self._at + size > self._size:
                raise _cut(self._size)
            if length > _KEPT_ARRAY:
                self._at += size
                return LongArray(length)
            return [self._scalar(_SCALARS[kind]) for _ in range(length)]
        if kind != _STRING:
            raise _damaged(f"an array has the unknown element type {kind}")
        if length <= _KEPT_ARRAY:
            return [self._string() for _ in range(length)]
        for _ in range(length):
            self._skip_string()
        return LongArray(length)

    def _skip_string(self) -> None:
        size: int = self._scalar(_U64)
        self._at += size
        if self._at > self._size:
            raise _cut(self._size)

    def _tensor(self) -> Tensor:
        name = self._string()
        dimensions: int = self._scalar(_U32)
        if not 1 <= dimensions <= _MAX_DIMENSIONS:
            raise _damaged(f"tensor {name[:64]!r} has {dimensions} dimensions")
        shape = tuple(self._scalar(_U64) for _ in range(dimensions))
        kind: int = self._scalar(_U32)
        offset: int = self._scalar(_U64)
        storage = TENSOR_TYPES.get(kind)
        if storage is None:
            raise _damaged(f"tensor {name[:64]!r} has the unknown type {kind}")
        if shape[0] % storage.block:
            raise _damaged(f"tensor {name[:64]!r} does not fill whole blocks")
        size = prod(shape) // storage.block * storage.block_bytes
        return Tensor(name, shape, storage.name, offset, size)

    def _check_data(self, tensors: tuple[Tensor, ...]) -> None:
        end = max((t.offset + t.size_bytes for t in tensors), default=0)
        if end > self._size:
            raise ModelFileError(
                "truncated",
                f"The file is incomplete: it has {self._size} of {end} bytes.",
            )
        # a cut-off download that was pre-allocated ends in zeros
        for tensor in sorted(tensors, key=lambda t: t.offset)[-8:]:
            if zero_region(self._data, tensor.offset, tensor.size_bytes):
                raise _damaged(f"the data of tensor {tensor.name[:64]!r} is blank")


def _damaged(what: str) -> ModelFileError:
    return ModelFileError("damaged", f"The file is damaged: {what}.")
