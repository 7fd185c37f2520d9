"""The forms in which model families write calls: JSON of several shapes, and Qwen's tags."""

from __future__ import annotations

import json
import re
from typing import Any

import msgspec

from homeai.tools.offer import Offer, Tool, ToolCall

_FUNCTION = re.compile(r"<function=([^>\n]{1,64})>(.*)</function>", re.DOTALL)
_PARAMETER = re.compile(r"<parameter=([^>\n]{1,200})>(.*?)</parameter>", re.DOTALL)


def calls_in_json(text: str, offer: Offer) -> list[ToolCall] | None:
    """Return the calls that a JSON text holds, or None if it is no call of offered tools.

    Known are `{"name","arguments"}`, `{"name","parameters"}`, `{"function":{…}}` and lists of these.
    """
    value = parsed(text)
    items = value if isinstance(value, list) else [value]
    calls = [_call(item, offer) for item in items]
    found = [call for call in calls if call is not None]
    return found if found and len(found) == len(calls) else None


def call_with_arguments(name: str, text: str, offer: Offer) -> list[ToolCall] | None:
    """Return the call of a name and a JSON text of arguments, or None."""
    call = _call({"name": name, "arguments": parsed(text)}, offer)
    return None if call is None else [call]


def call_in_tags(text: str, offer: Offer) -> list[ToolCall] | None:
    """Return the call of `<function=NAME><parameter=KEY>VALUE</parameter>…</function>`, or None."""
    found = _FUNCTION.fullmatch(text)
    tool = offer.find(found[1].strip()) if found else None
    if found is None or tool is None:
        return None
    arguments = {
        key.strip(): _typed(value, tool, key.strip()) for key, value in _PARAMETER.findall(found[2])
    }
    return [ToolCall(tool.name, _json(arguments))]


def _typed(text: str, tool: Tool, key: str) -> Any:  # noqa: ANN401 -- JSON of any shape
    """A value written without quotes, as the schema wants it."""
    text = text.removeprefix("\n").removesuffix("\n")
    properties = tool.parameters.get("properties")
    schema = properties.get(key) if isinstance(properties, dict) else None
    if isinstance(schema, dict) and schema.get("type") == "string":
        return text
    value = parsed(text)
    return text if value is None and text.strip() != "null" else value


def _call(value: object, offer: Offer) -> ToolCall | None:
    if not isinstance(value, dict):
        return None
    inner = value.get("function")
    if isinstance(inner, dict):
        value = inner
    name = value.get("name", inner)
    tool = offer.find(name) if isinstance(name, str) else None
    arguments = value.get("arguments", value.get("parameters", {}))
    if isinstance(arguments, str):
        arguments = parsed(arguments)
    if tool is None or not isinstance(arguments, dict):
        return None
    return ToolCall(tool.name, _json(arguments))


def parsed(text: str) -> Any:  # noqa: ANN401 -- JSON of any shape
    """Return the value of a JSON text; None if it is none, or holds what cannot be written as JSON again.

    That is NaN, whole numbers beyond 64 bits, infinity (also by a number that is too large), and halves of characters. Models write
    line breaks into strings, so these are taken as they are.
    """
    try:
        value = json.loads(text, strict=False)
        json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
        msgspec.msgpack.encode(value)  # it travels to a worker with the next turn
    except (ValueError, RecursionError, OverflowError):  # UnicodeEncodeError is a ValueError
        return None
    return value


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
