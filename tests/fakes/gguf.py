"""Makes GGUF files: tiny ones from nothing, and damaged or changed copies of a real one."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

ALIGNMENT = 32
U32, F32, BOOL, STRING, ARRAY, U64 = 4, 6, 7, 8, 9, 10


def text(value: str) -> bytes:
    raw = value.encode()
    return struct.pack("<Q", len(raw)) + raw


def value(item: Any) -> bytes:
    """Type and value of a metadata entry."""
    if isinstance(item, bool):
        return struct.pack("<I?", BOOL, item)
    if isinstance(item, int):
        return struct.pack("<II", U32, item)
    if isinstance(item, float):
        return struct.pack("<If", F32, item)
    if isinstance(item, str):
        return struct.pack("<I", STRING) + text(item)
    return struct.pack("<IIQ", ARRAY, STRING, len(item)) + b"".join(map(text, item))


def tensor(name: str, shape: list[int], kind: int, offset: int) -> bytes:
    dims = struct.pack(f"<I{len(shape)}Q", len(shape), *shape)
    return text(name) + dims + struct.pack("<IQ", kind, offset)


def tiny(path: Path, *, version: int = 3, data: bytes | None = None, **metadata: Any) -> Path:
    """Write a small file with one f32 tensor of 64 elements.

    Keyword names use two underscores for a dot: `general__architecture="llama"`.
    """
    entries = {"general.architecture": "llama", "tokenizer.ggml.tokens": ["a", "b"]}
    entries |= {key.replace("__", "."): item for key, item in metadata.items()}
    entries = {key: item for key, item in entries.items() if item is not None}
    body = b"GGUF" + struct.pack("<IQQ", version, 1, len(entries))
    body += b"".join(text(key) + value(item) for key, item in entries.items())
    body += tensor("weight", [64], 0, 0)
    body += b"\0" * (-len(body) % ALIGNMENT)
    path.write_bytes(body + (b"\1" * 256 if data is None else data))
    return path


def patched(source: Path, target: Path, *, set: dict[str, Any] | None = None, drop=()) -> Path:  # noqa: A002
    """Copy a real model with changed metadata; its tensor data stays aligned."""
    raw = source.read_bytes()
    _, tensors, keys = struct.unpack_from("<IQQ", raw, 4)
    at, entries = 24, {}
    for _ in range(keys):
        start = at
        size = struct.unpack_from("<Q", raw, at)[0]
        key = raw[at + 8 : at + 8 + size].decode()
        at = _skip_value(raw, at + 8 + size)
        entries[key] = raw[start:at]
    infos = at
    for _ in range(tensors):
        at += 8 + struct.unpack_from("<Q", raw, at)[0]
        at += 4 + 8 * struct.unpack_from("<I", raw, at)[0] + 12
    for key in drop:
        entries.pop(key, None)
    for key, item in (set or {}).items():
        entries[key] = text(key) + value(item)
    data_at = -(-at // ALIGNMENT) * ALIGNMENT
    head = b"GGUF" + struct.pack("<IQQ", 3, tensors, len(entries)) + b"".join(entries.values())
    head += raw[infos:at]
    head += b"\0" * (-len(head) % ALIGNMENT)
    target.write_bytes(head + raw[data_at:])
    return target


def _skip_value(raw: bytes, at: int) -> int:
    sizes = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}
    kind = struct.unpack_from("<I", raw, at)[0]
    at += 4
    if kind in sizes:
        return at + sizes[kind]
    if kind == STRING:
        return at + 8 + struct.unpack_from("<Q", raw, at)[0]
    inner, count = struct.unpack_from("<IQ", raw, at)
    at += 12
    if inner in sizes:
        return at + sizes[inner] * count
    for _ in range(count):
        at += 8 + struct.unpack_from("<Q", raw, at)[0]
    return at


def truncated(source: Path, target: Path, keep: float) -> Path:
    raw = source.read_bytes()
    target.write_bytes(raw[: int(len(raw) * keep)])
    return target


def half_zeroed(source: Path, target: Path) -> Path:
    raw = source.read_bytes()
    half = len(raw) // 2
    target.write_bytes(raw[:half] + bytes(len(raw) - half))
    return target
