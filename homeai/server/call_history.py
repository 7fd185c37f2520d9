"""Tool calls and their results within the messages of a conversation."""

from __future__ import annotations

from typing import Any

from homeai.domain.errors import BadRequest
from homeai.server.fields import Fields
from homeai.tools.forms import parsed


def read_calls(fields: Fields, where: str) -> list[dict[str, Any]]:
    """Return the calls of an assistant's message, their arguments as objects for chat templates.

    Args:
        fields: The message; `tool_calls` is taken from it.
        where: Name of the field, for errors.

    Raises:
        BadRequest: Says which call is wrong.
    """
    given = fields.take("tool_calls")
    if given is None:
        return []
    if not isinstance(given, list) or not given:
        raise fields.wrong("tool_calls", given, "a list with at least one call")
    return [_call(item, f"{where}[{number}]") for number, item in enumerate(given)]


def _call(item: object, where: str) -> dict[str, Any]:
    if not isinstance(item, dict):
        raise BadRequest(f"{where}: an object with id and function is needed.", param=where)
    fields = Fields(item, f"{where}.")
    given_id = fields.text("id")
    function = fields.object("function")
    if not given_id:
        raise fields.wrong("id", given_id, "the id of the call")
    if function is None:
        raise fields.wrong("function", None, "an object with name and arguments")
    inner = Fields(function, f"{where}.function.")
    name, arguments = inner.text("name"), inner.text("arguments", "{}")
    if not name:
        raise inner.wrong("name", name, "the name of a function")
    return {
        "id": given_id,
        "type": "function",
        "function": {"name": name, "arguments": _object_if_it_is_one(arguments)},
    }


def _object_if_it_is_one(text: str) -> object:
    """Templates write objects as JSON themselves; what is none stays as it was."""
    value = parsed(text)
    return value if isinstance(value, dict) else text


def check_results(messages: list[dict[str, Any]]) -> None:
    """Name the tool of each result, and refuse results of calls that were never made.

    Raises:
        BadRequest: Says which message is wrong.
    """
    names: dict[str, str] = {}
    for number, message in enumerate(messages):
        for call in message.get("tool_calls", ()):
            names[call["id"]] = call["function"]["name"]
        if message["role"] != "tool":
            continue
        where = f"messages[{number}].tool_call_id"
        found = names.get(message.get("tool_call_id", ""))
        if found is None:
            raise BadRequest(
                f"{where}: a result belongs to a call of an earlier assistant message; "
                "its id is needed.",
                param=where,
            )
        message.setdefault("name", found)
