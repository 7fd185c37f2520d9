"""Chat messages as clients send them, checked and brought into one form."""

from __future__ import annotations

from typing import Any

from homeai.domain.errors import BadRequest, UnsupportedParameter
from homeai.server.call_history import check_results, read_calls
from homeai.server.fields import Fields
from homeai.server.parameters import refuse_unknown

_ROLES = ("system", "developer", "user", "assistant", "tool")


def read_messages(fields: Fields) -> list[dict[str, Any]]:
    """Return the messages with plain text content, as chat templates want them.

    Raises:
        BadRequest: Says which message is wrong, never what is in it.
    """
    given = fields.take("messages")
    if not isinstance(given, list) or not given:
        what = "an empty list" if given == [] else "no list"
        raise BadRequest(
            f"messages: {what} was given; allowed is a list with at least one message.",
            param="messages",
        )
    messages = [_message(item, f"messages[{number}]") for number, item in enumerate(given)]
    check_results(messages)
    return messages


def _message(item: object, where: str) -> dict[str, Any]:
    if not isinstance(item, dict):
        raise BadRequest(f"{where}: an object with role and content is needed.", param=where)
    fields = Fields(item, f"{where}.")
    role = fields.text("role")
    if role not in _ROLES:
        raise fields.wrong("role", role, ", ".join(_ROLES))
    if fields.take("function_call"):
        text = "function_call is not supported: use tool_calls."
        raise UnsupportedParameter(text, param=f"{where}.function_call")
    calls = read_calls(fields, f"{where}.tool_calls")
    if calls and role != "assistant":
        raise fields.wrong("role", role, "assistant for a message with tool_calls")
    message: dict[str, Any] = {
        "role": "system" if role == "developer" else role,
        "content": _content(fields, f"{where}.content", optional=bool(calls)),
    }
    if calls:
        message["tool_calls"] = calls
    for name in ("name", "tool_call_id"):
        if value := fields.text(name):
            message[name] = value
    for ignored in ("refusal", "annotations", "audio", "reasoning_content"):
        fields.take(ignored)  # parts of earlier answers that clients send back
    refuse_unknown(fields, frozenset({"role", "content", "name"}))
    return message


def _content(fields: Fields, where: str, *, optional: bool) -> str:
    content = fields.take("content")
    if content is None and optional:
        return ""
    if isinstance(content, str):
        return content
    if not isinstance(content, list) or not content:
        raise fields.wrong("content", content, "a text or a list of text parts")
    texts = []
    for part in content:
        kind = part.get("type") if isinstance(part, dict) else None
        if kind != "text":
            if isinstance(kind, str):
                text = f"{where}: parts of type {kind[:40]!r} are not supported; this model reads text."
                raise UnsupportedParameter(text, param=where)
            raise BadRequest(f"{where}: parts are objects with type and text.", param=where)
        if not isinstance(part.get("text"), str):
            raise BadRequest(f"{where}: a text part needs a text.", param=where)
        texts.append(part["text"])
    return "".join(texts)
