"""The grammar of an answer that must be a tool call.

The form is the one of the Hermes and Qwen families, which `reader` understands whatever the model:

    <tool_call>
    {"name": "weather", "arguments": {"city": "Bonn"}}
    </tool_call>
"""

from __future__ import annotations

from typing import Any

from homeai.domain.errors import InvalidSchema
from homeai.structured.gbnf import validate
from homeai.structured.json_schema import schema_to_gbnf
from homeai.structured.limits import GENERATED
from homeai.tools.offer import Offer, Tool

MOST_CALLS = 8
"""Calls in one answer: a small model would go on without end."""
_DATA = frozenset({"const", "enum", "default", "examples"})
"""Keywords whose values are data, in which `$ref` means nothing."""


def calls_grammar(offer: Offer) -> str:
    """Return a grammar, start rule `root`, whose texts are calls of offered tools.

    Raises:
        InvalidSchema: Arguments that cannot be enforced; names the tool.
    """
    for tool in offer.tools:
        where = f"tools.{tool.name}.parameters"
        try:
            schema_to_gbnf(tool.parameters, param="tools")
        except InvalidSchema as error:
            raise InvalidSchema(f"{where}: {error.message}", param="tools") from None
    schemas = [
        _call_schema(tool, f"#/anyOf/{number}/properties/arguments")
        for number, tool in enumerate(offer.tools)
    ]
    one = schema_to_gbnf({"anyOf": schemas}, param="tools")
    most = MOST_CALLS - 1 if offer.parallel else 0
    more = f' ("\\n" call){{0,{most}}}' if most else ""
    wrapped = one.replace("root ::= ", "json-of-call ::= ", 1)
    text = (
        f'root ::= call{more}\ncall ::= "<tool_call>\\n" json-of-call "\\n</tool_call>"\n' + wrapped
    )
    validate(text, limits=GENERATED)
    return text


def _call_schema(tool: Tool, pointer: str) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {"name": {"const": tool.name}, "arguments": _moved(tool.parameters, pointer)},
        "required": ["name", "arguments"],
        "additionalProperties": False,
    }


def _moved(schema: Any, pointer: str) -> Any:  # noqa: ANN401 -- JSON of any shape
    """A schema that stands at `pointer` now: its references into itself follow."""
    if isinstance(schema, list):
        return [_moved(item, pointer) for item in schema]
    if not isinstance(schema, dict):
        return schema
    moved = {}
    for key, value in schema.items():
        if key == "$ref" and isinstance(value, str) and value.startswith("#"):
            moved[key] = pointer + value[1:]
        else:
            moved[key] = value if key in _DATA else _moved(value, pointer)
    return moved
