"""From request bytes to a JSON object: strict, bounded, and safe for native code behind it."""

from __future__ import annotations

import codecs
import json
import re
from typing import Any

import msgspec

from homeai.domain.errors import BadRequest

MAX_DEPTH = 100
MAX_CONTAINERS = 200_000
"""Arrays and objects in one body. Each costs some microseconds, during which nobody else is served."""
_STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)
_HALF_SURROGATE = re.compile(
    rb"\\u[dD][89aAbB][0-9a-fA-F]{2}(?!\\u[dD][c-fC-F])|\\u[dD][c-fC-F][0-9a-fA-F]{2}"
)
_NOT_FINITE = re.compile(rb"[\[:,\s](-?(?:NaN|Infinity))\b")


def decode_object(body: bytes) -> dict[str, Any]:
    """Return the JSON object in `body`.

    Raises:
        BadRequest: No UTF-8, no JSON, no object, NaN or Infinity, a key twice, nested deeper than
            100 levels, a lone surrogate, a number out of range, or absurdly many arrays.
    """
    body = body.removeprefix(codecs.BOM_UTF8)
    _refuse_crowds(body)
    try:
        value = msgspec.json.decode(body)
        # msgspec keeps the last of two equal keys; a second pass in C finds them
        _twin_finder.decode(body.decode())
    except RecursionError:
        raise _too_deep() from None
    except (msgspec.DecodeError, ValueError) as error:
        raise BadRequest(f"The body is no JSON: {_reason(body, error)}.") from None
    if not isinstance(value, dict):
        raise BadRequest("The body must be a JSON object.")
    _refuse_depth(value)
    return value


def _refuse_crowds(body: bytes) -> None:
    if _brackets(body) > MAX_CONTAINERS and _brackets(_STRING.sub(b"", body)) > MAX_CONTAINERS:
        raise BadRequest(f"The body holds more than {MAX_CONTAINERS} arrays and objects.")


def _brackets(text: bytes) -> int:
    return text.count(b"[") + text.count(b"{")


def _refuse_twins(pairs: list[tuple[str, Any]]) -> None:
    names = [name for name, _ in pairs]
    if len(set(names)) != len(names):
        twice = next(name for name in names if names.count(name) > 1)[:60]
        raise BadRequest(f"The field {twice!r} stands twice in one object.", param=twice)


_twin_finder = json.JSONDecoder(object_pairs_hook=_refuse_twins)


def _reason(body: bytes, error: Exception) -> str:
    """What is wrong, without quoting the body."""
    if not body.strip():
        return "it is empty"
    if _HALF_SURROGATE.search(body):
        return "a text holds a lone surrogate (half of a \\u pair), which is no character"
    if found := _NOT_FINITE.search(body):
        return f"it holds {found[1].decode()}, but JSON numbers are finite"
    if isinstance(error, msgspec.ValidationError):
        return "it holds a number that is out of range"
    try:
        body.decode()
    except UnicodeDecodeError as wrong:
        return f"byte {wrong.start} is not UTF-8"
    # msgspec names the kind of error and the byte, never the text around it
    said = str(error) if isinstance(error, msgspec.DecodeError) else "malformed"
    return said.removeprefix("JSON is malformed: ")


def _too_deep() -> BadRequest:
    return BadRequest(f"The body is nested deeper than {MAX_DEPTH} levels.")


def _refuse_depth(value: object) -> None:
    """Refuse what would overrun a recursive reader further inside."""
    level: list[Any] = [value]
    for _ in range(MAX_DEPTH):
        children = [
            child
            for item in level
            for child in (item.values() if isinstance(item, dict) else item)
            if isinstance(child, dict | list)
        ]
        if not children:
            return
        level = children
    raise _too_deep()
