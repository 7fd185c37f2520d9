"""From request bytes to a JSON object: strict, bounded, and safe for native code behind it."""

from __future__ import annotations

import json
import re
from typing import Any, NoReturn

from homeai.domain.errors import BadRequest

MAX_DEPTH = 100
_SURROGATE = re.compile("[\ud800-\udfff]")


def decode_object(body: bytes) -> dict[str, Any]:
    """Return the JSON object in `body`.

    Raises:
        BadRequest: No UTF-8, no JSON, no object, NaN or Infinity, a key twice, nested deeper than
            100 levels, a lone surrogate, or a number out of range.
    """
    try:
        text = body.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise BadRequest(f"The body is not UTF-8: byte {error.start} is wrong.") from None
    if _depth(text) > MAX_DEPTH:
        raise BadRequest(f"The body is nested deeper than {MAX_DEPTH} levels.")
    try:
        value = json.loads(text, parse_constant=_no_constant, object_pairs_hook=_no_twins)
    except json.JSONDecodeError as error:
        raise BadRequest(
            f"The body is no JSON: {error.msg} at line {error.lineno}, column {error.colno}."
        ) from None
    except (ValueError, RecursionError) as error:  # an integer of thousands of digits
        raise BadRequest(
            f"The body holds a value that cannot be used: {str(error)[:80]}."
        ) from None
    if not isinstance(value, dict):
        raise BadRequest("The body must be a JSON object.")
    _refuse_surrogates(value)
    return value


def _no_constant(name: str) -> NoReturn:
    raise BadRequest(f"The body holds {name}; JSON numbers are finite.")


def _no_twins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise BadRequest(f"The field {twice[:60]!r} stands twice in one object.", param=twice[:60])
    return found


_TOKENS = re.compile(r'"(?:[^"\\]|\\.)*"?|[\[{]|[\]}]', re.DOTALL)


def _depth(text: str) -> int:
    """Deepest nesting of brackets outside of strings; known before a parser recurses."""
    depth = deepest = 0
    for match in _TOKENS.finditer(text):
        mark = match[0][0]
        if mark in "[{":
            depth += 1
            deepest = max(deepest, depth)
        elif mark in "]}":
            depth -= 1
    return deepest


def _refuse_surrogates(value: object) -> None:
    stack = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, str):
            if _SURROGATE.search(item):
                raise BadRequest(
                    "A text holds a lone surrogate (half of a \\u pair), which is no character."
                )
        elif isinstance(item, list):
            stack += item
        elif isinstance(item, dict):
            stack += item.keys()
            stack += item.values()
