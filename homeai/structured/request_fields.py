"""What a request says about the form of its answer, as grammar text or None."""

from __future__ import annotations

import re

from homeai.domain.errors import BadRequest
from homeai.structured.gbnf import validate
from homeai.structured.json_schema import any_json, schema_to_gbnf
from homeai.structured.keywords import shown

_KINDS = ("text", "json_object", "json_schema")
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


def response_format(value: object) -> str | None:
    """Return the grammar for OpenAI's `response_format`, None for free text.

    Args:
        value: The field as parsed JSON; None counts as not given.

    Raises:
        BadRequest: Wrong shape.
        InvalidSchema: A schema that cannot be kept.
    """
    if value is None:
        return None
    if not isinstance(value, dict):
        raise _wrong("response_format", "an object with a type", value)
    kind = value.get("type")
    if kind not in _KINDS or not isinstance(kind, str):
        raise _wrong("response_format.type", f"one of {', '.join(_KINDS)}", kind)
    _only(value, ("type", "json_schema") if kind == "json_schema" else ("type",), "response_format")
    if kind == "text":
        return None
    if kind == "json_object":
        return any_json("object")
    return _json_schema(value.get("json_schema"))


def _json_schema(value: object) -> str:
    where = "response_format.json_schema"
    if not isinstance(value, dict):
        raise _wrong(where, "an object with name and schema", value)
    _only(value, ("name", "description", "schema", "strict"), where)
    name = value.get("name")
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise _wrong(f"{where}.name", "1 to 64 letters, digits, _ or -", name)
    if not isinstance(value.get("description", ""), str | None):
        raise _wrong(f"{where}.description", "a text", value["description"])
    if not isinstance(value.get("strict"), bool | None):
        raise _wrong(f"{where}.strict", "true, false or null", value["strict"])
    if not isinstance(value.get("schema"), dict | bool):
        raise _wrong(f"{where}.schema", "a JSON schema", value.get("schema"))
    return schema_to_gbnf(value["schema"], param=f"{where}.schema")


def raw_grammar(value: object) -> str | None:
    """Return the grammar of the `grammar` extension parameter after checking it.

    Args:
        value: The field as parsed JSON; None counts as not given.

    Raises:
        BadRequest: Not a text.
        InvalidSchema: Not a grammar that can be used, with line and column.
    """
    if value is None:
        return None
    if not isinstance(value, str):
        raise _wrong("grammar", "a text in GBNF notation with a rule named root", value)
    validate(value)
    return value


def _only(value: dict[str, object], known: tuple[str, ...], where: str) -> None:
    for key in value:
        if key not in known:
            raise BadRequest(
                f"{where} has an unknown field {shown(key)}; known are {', '.join(known)}",
                param=where,
            )


def _wrong(where: str, wanted: str, given: object) -> BadRequest:
    return BadRequest(f"{where} must be {wanted}, not {shown(given)}", param=where)
