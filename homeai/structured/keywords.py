"""The keywords of JSON Schema: which are honoured, which say nothing, which are refused, and their shapes.

No keyword is ever ignored that constrains something.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn

from homeai.domain.errors import InvalidSchema
from homeai.structured.string_formats import FORMATS

TYPES = ("null", "boolean", "integer", "number", "string", "array", "object")

_ANNOTATIONS = frozenset(
    (
        "title",
        "description",
        "default",
        "examples",
        "deprecated",
        "readOnly",
        "writeOnly",
        "$schema",
        "$comment",
        "$defs",
        "definitions",
        "contentEncoding",
        "contentMediaType",
        "contentSchema",
        "discriminator",
    )
)
"""Constrain nothing (`discriminator` is OpenAPI's hint beside a oneOf that says it all)."""

_ADVICE = {
    "multipleOf": "give the values as an enum, or check them yourself",
    "patternProperties": "name the properties, or use additionalProperties",
    "not": "say what is allowed instead",
    "if": "use anyOf",
    "then": "use anyOf",
    "else": "use anyOf",
    "dependentSchemas": "use anyOf",
    "dependentRequired": "use anyOf",
    "dependencies": "use anyOf",
    "contains": "use prefixItems or items",
    "minContains": "use minItems",
    "maxContains": "use maxItems",
    "unevaluatedProperties": "use additionalProperties",
    "unevaluatedItems": "use items",
    "propertyNames": "name the properties",
    "additionalItems": "since draft 2020-12 this is items, next to prefixItems",
    "nullable": 'use a list of types, ["string", "null"]',
    "$anchor": "refer by JSON pointer, #/$defs/name",
    "$dynamicRef": "use $ref",
    "$dynamicAnchor": "use $ref",
    "$recursiveRef": "use $ref",
    "$recursiveAnchor": "use $ref",
}

TYPES_OF = {
    "minLength": ("string",),
    "maxLength": ("string",),
    "pattern": ("string",),
    "format": ("string",),
    "minimum": ("integer", "number"),
    "maximum": ("integer", "number"),
    "exclusiveMinimum": ("integer", "number"),
    "exclusiveMaximum": ("integer", "number"),
    "properties": ("object",),
    "required": ("object",),
    "additionalProperties": ("object",),
    "minProperties": ("object",),
    "maxProperties": ("object",),
    "prefixItems": ("array",),
    "items": ("array",),
    "minItems": ("array",),
    "maxItems": ("array",),
}
"""Types of which a keyword speaks; it says nothing about values of others."""


def check_keywords(schema: dict[str, object], pointer: str) -> None:
    """Refuse a schema object with an unknown, unsupported or malformed keyword.

    Args:
        schema: The object.
        pointer: Where it stands, as a JSON pointer.

    Raises:
        InvalidSchema: Names the pointer, what was given and what is allowed.
    """
    for key, value in schema.items():
        if key in _ANNOTATIONS or key.startswith("x-"):
            continue
        if key == "$id":
            if pointer != "#":
                refuse(pointer, "$id is supported only at the root of the schema")
        elif key == "uniqueItems":
            if value is not False:
                refuse(f"{pointer}/{key}", f"only false is supported, not {shown(value)}")
        elif key in _SHAPES:
            wanted, fits = _SHAPES[key]
            if not fits(value):
                refuse(f"{pointer}/{escaped(key)}", f"must be {wanted}, not {shown(value)}")
        else:
            advice = f"; {_ADVICE[key]}" if key in _ADVICE else f"; supported are {_supported()}"
            refuse(pointer, f"the keyword {shown(key)} is not supported{advice}")


def refuse(pointer: str, problem: str) -> NoReturn:
    """Raise the error for `problem` at `pointer`.

    Raises:
        InvalidSchema: Always.
    """
    raise InvalidSchema(f"schema at {pointer[:200]}: {problem}", details={"pointer": pointer[:200]})


def escaped(name: str) -> str:
    """Return `name` as a step of a JSON pointer."""
    return name.replace("~", "~0").replace("/", "~1")


def shown(value: object) -> str:
    """Return a short description of a JSON value for an error message."""
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        return f"an array of {len(value)}"
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "…"


def is_number(value: object) -> bool:
    """Return whether `value` is a JSON number (a bool is none)."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def is_whole(value: object) -> bool:
    """Return whether `value` is a number without a fraction; 2.0 is one."""
    return is_number(value) and value == int(value)  # type: ignore[call-overload]


def _supported() -> str:
    return ", ".join(sorted(_SHAPES))


def _is_schema(value: object) -> bool:
    return isinstance(value, dict | bool)


def _is_schemas(value: object) -> bool:
    return isinstance(value, list) and len(value) > 0 and all(map(_is_schema, value))


def _is_schema_map(value: object) -> bool:
    return isinstance(value, dict) and all(map(_is_schema, value.values()))


def _is_count(value: object) -> bool:
    return is_whole(value) and value >= 0  # type: ignore[operator]


def _is_type(value: object) -> bool:
    if isinstance(value, str):
        return value in TYPES
    return (
        isinstance(value, list)
        and len(value) > 0
        and all(isinstance(name, str) and name in TYPES for name in value)
    )


def _is_names(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(name, str) for name in value)


def _is_text(value: object) -> bool:
    return isinstance(value, str)


_SHAPES: dict[str, tuple[str, Callable[[object], bool]]] = {
    "type": (f"one of {', '.join(TYPES)}, or a non-empty list of them", _is_type),
    "enum": (
        "a non-empty list of values",
        lambda value: isinstance(value, list) and len(value) > 0,
    ),
    "const": ("a value", lambda _value: True),
    "$ref": ("a text", _is_text),
    "allOf": ("a non-empty list of schemas", _is_schemas),
    "anyOf": ("a non-empty list of schemas", _is_schemas),
    "oneOf": ("a non-empty list of schemas", _is_schemas),
    "properties": ("an object of schemas", _is_schema_map),
    "required": ("a list of property names", _is_names),
    "additionalProperties": ("a schema, true or false", _is_schema),
    "minProperties": ("a whole number ≥ 0", _is_count),
    "maxProperties": ("a whole number ≥ 0", _is_count),
    "prefixItems": ("a non-empty list of schemas", _is_schemas),
    "items": ("a schema, true or false (a list of schemas is prefixItems)", _is_schema),
    "minItems": ("a whole number ≥ 0", _is_count),
    "maxItems": ("a whole number ≥ 0", _is_count),
    "minLength": ("a whole number ≥ 0", _is_count),
    "maxLength": ("a whole number ≥ 0", _is_count),
    "pattern": ("a text", _is_text),
    "format": (
        f"one of {', '.join(sorted(FORMATS))}",
        lambda value: isinstance(value, str) and value in FORMATS,
    ),
    "minimum": ("a number", is_number),
    "maximum": ("a number", is_number),
    "exclusiveMinimum": ("a number", is_number),
    "exclusiveMaximum": ("a number", is_number),
}
