"""`tools`, `tool_choice` and `parallel_tool_calls` of a chat request."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from homeai.domain.errors import BadRequest
from homeai.server.fields import Fields
from homeai.server.parameters import refuse_unknown
from homeai.tools.offer import Choice, Offer, Tool

MAX_TOOLS = 128
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_NO_ARGUMENTS: dict[str, Any] = {
    "type": "object",
    "properties": {},
    "additionalProperties": False,
}


def read_tools(fields: Fields) -> tuple[Offer | None, list[dict[str, Any]] | None]:
    """Return what may be called, and the tools as the chat template shows them.

    Both are None if no tool is offered; with `tool_choice: none` the model is shown none.

    Raises:
        BadRequest: A tool or a choice that cannot be understood.
    """
    given = fields.take("tools")
    parallel = fields.switch("parallel_tool_calls", default=True)
    chosen = fields.take("tool_choice")
    if given is None or given == []:
        if chosen not in (None, "none", "auto"):
            raise fields.wrong("tool_choice", chosen, "none or auto where no tools are offered")
        return None, None
    if not isinstance(given, list) or len(given) > MAX_TOOLS:
        what = f"{len(given)} tools" if isinstance(given, list) else given
        raise fields.wrong("tools", what, f"a list of at most {MAX_TOOLS} tools")
    tools = [_tool(item, f"tools[{number}]") for number, item in enumerate(given)]
    names = [tool.name for tool in tools]
    twice = next((name for number, name in enumerate(names) if name in names[:number]), None)
    if twice is not None:
        raise fields.wrong("tools", f"{twice} twice", "each name once")
    offer = _choose(fields, chosen, Offer(tuple(tools), parallel=parallel))
    return (None, None) if offer.choice is Choice.NONE else (offer, given)


def _tool(item: object, where: str) -> Tool:
    if not isinstance(item, dict) or item.get("type") != "function":
        raise BadRequest(
            f"{where}: an object with type function and a function is needed.", param=where
        )
    outer = Fields(item, f"{where}.")
    outer.take("type")
    function = outer.object("function")
    refuse_unknown(outer, frozenset({"type", "function"}))
    if function is None:
        raise outer.wrong("function", None, "an object with a name")
    inner = Fields(function, f"{where}.function.")
    name = inner.text("name")
    if not _NAME.fullmatch(name):
        raise inner.wrong("name", name, "1 to 64 letters, digits, _ or -")
    inner.text("description")
    inner.switch("strict")
    parameters = inner.object("parameters")
    refuse_unknown(inner, frozenset({"name", "description", "parameters", "strict"}))
    if parameters and parameters.get("type", "object") != "object":
        raise inner.wrong("parameters", parameters["type"], "a JSON schema of type object")
    return Tool(name, {"type": "object", **parameters} if parameters else _NO_ARGUMENTS)


def _choose(fields: Fields, chosen: object, offer: Offer) -> Offer:
    if chosen is None:
        return offer
    if isinstance(chosen, str):
        if chosen not in list(Choice):
            raise fields.wrong(
                "tool_choice", chosen, "none, auto, required, or an object that names a function"
            )
        return replace(offer, choice=Choice(chosen))
    function = chosen.get("function") if isinstance(chosen, dict) else None
    name = function.get("name") if isinstance(function, dict) else None
    if not isinstance(chosen, dict) or chosen.get("type") != "function" or name is None:
        raise fields.wrong(
            "tool_choice", chosen, "none, auto, required, or an object that names a function"
        )
    tool = offer.find(name)
    if tool is None:
        allowed = f"one of {', '.join(tool.name for tool in offer.tools)}"
        raise fields.wrong("tool_choice.function.name", name, allowed)
    return Offer((tool,), Choice.REQUIRED, parallel=False)
