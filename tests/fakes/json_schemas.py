"""JSON schemas with instances that fit and instances that do not, and schemas that must be refused.

Also a strategy for random schemas that come with a judge of their own, independent of the code under test.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any

from hypothesis import strategies as st

PERSON = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "minLength": 1, "maxLength": 5},
        "age": {"type": "integer", "minimum": 0, "maximum": 150},
        "tags": {"type": "array", "items": {"type": "string"}, "maxItems": 2},
    },
    "required": ["name"],
}
TREE = {
    "$defs": {
        "node": {
            "type": "object",
            "properties": {
                "value": {"type": "integer"},
                "children": {"type": "array", "items": {"$ref": "#/$defs/node"}},
            },
            "required": ["value"],
            "additionalProperties": False,
        }
    },
    "$ref": "#/$defs/node",
}


@dataclass(frozen=True)
class Case:
    """`fits` and `fails` are JSON values; `texts` and `no_texts` are texts taken literally."""

    name: str
    schema: Any
    fits: list = field(default_factory=list)
    fails: list = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    no_texts: list[str] = field(default_factory=list)

    @property
    def schema_text(self) -> str:
        return json.dumps(self.schema)

    def good(self) -> list[str]:
        return [compact(value) for value in self.fits] + self.texts

    def bad(self) -> list[str]:
        return [compact(value) for value in self.fails] + self.no_texts


def compact(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _object(properties: dict, **more: object) -> dict:
    return {"type": "object", "properties": properties, **more}


CASES = [
    Case("anything", {}, [1, -2.5, "a", None, True, [], {}, {"a": [1, {"b": None}]}], [],
         ['{ "a": 1 }', "1e5", '"\\u00e9\\n"'], ["", "{", "'a'", "01", '"', "nul"]),
    Case("true", True, [1, "x"]),
    Case("annotations say nothing", {"title": "t", "description": "d", "default": 1, "examples": [2],
                                     "$comment": "c", "x-mine": {}, "deprecated": True,
                                     "$schema": "https://json-schema.org/draft/2020-12/schema"}, [1, "x"]),
    Case("null", {"type": "null"}, [None], [0, "", False]),
    Case("boolean", {"type": "boolean"}, [True, False], [None, 0, "true"]),
    Case("integer", {"type": "integer"}, [0, 7, -12, 10**15], [1.5, "1"], [], ["01", "-0", "+1", "1e3", "1."]),
    Case("number", {"type": "number"}, [0, -1.5, 3.25], ["1", None], ["1e5", "-0.5E-3"], [".5", "1.", "00"]),
    Case("two types", {"type": ["string", "null"]}, ["a", None], [1, True]),
    Case("integer range", {"type": "integer", "minimum": -3, "maximum": 12}, [-3, -1, 0, 9, 10, 12],
         [-4, 13, -10, 20, 100]),
    Case("integer below", {"type": "integer", "exclusiveMaximum": 0}, [-1, -999], [0, 1]),
    Case("integer from a fraction", {"type": "integer", "minimum": 0.5, "exclusiveMaximum": 3}, [1, 2], [0, 3]),
    Case("number range", {"type": "number", "minimum": 0.5, "exclusiveMaximum": 2}, [0.5, 1, 1.999, 0.75],
         [0.4, 2, 0, -1, 2.5], ["1.0"], ["2.0", "0.49", "1e0"]),
    Case("negative number range", {"type": "number", "exclusiveMinimum": -1.5, "maximum": -0.25},
         [-1.4, -0.25, -1], [-1.5, -0.2, 0, 1]),
    Case("minimum alone means numbers", {"minimum": 5}, [5, 6.5], [4]),
    Case("maximum of ten to the 300", {"type": "integer", "minimum": 1, "maximum": 1e300}, [1, 10**17], [0]),
    Case("string", {"type": "string"}, ["", "a b", "é", "日本", "😀", "힣\ud7ff\ue000", 'say "x"', "a\\b", "line\nbreak"], [1],
         ['"\\u0041\\/"'], ['"a', '"\n"', '"\\x"', '"\\ud800"', '"\\uDC00"']),
    Case("length", {"type": "string", "minLength": 2, "maxLength": 3}, ["ab", "日本語", "😀😀"], ["a", "abcd", ""],
         ['"\\n\\u0041"'], []),
    Case("length beyond a block", {"type": "string", "minLength": 700, "maxLength": 1500},
         ["a" * 700, "a" * 1024, "a" * 1500], ["a" * 699, "a" * 1501, ""]),
    Case("large least length", {"type": "string", "minLength": 600}, ["b" * 600, "b" * 900], ["b" * 599]),
    Case("pattern, anchored", {"type": "string", "pattern": "^[a-c]+[0-9]?$"}, ["a", "abc1"], ["", "1", "abcd", "a12"]),
    Case("pattern, searched", {"type": "string", "pattern": "b+c"}, ["bc", "xxbbcyy", "\nbc"], ["b", "cb", ""]),
    Case("pattern, alternatives", {"type": "string", "pattern": "^a|b$"}, ["a", "axx", "xb"], ["xa", "bx", ""]),
    Case("pattern, quotes", {"type": "string", "pattern": '^["\\\\]{2}$'}, ['""', '\\"'], ['"', "ab"]),
    Case("pattern, control characters", {"type": "string", "pattern": "^[\\x00-\\x1f]$"},
         ["\n", "\t", "\x01", "\x1f"], [" ", "a"]),
    Case("pattern, escapes", {"type": "string", "pattern": "^\\d{3}-\\w\\s\\.$"}, ["123-a ."], ["12-a .", "123-- ."]),
    Case("pattern, groups", {"type": "string", "pattern": "^(?:ab|(?<x>cd)){2}$"}, ["abcd", "cdcd"], ["ab", "abc"]),
    Case("pattern, lazy", {"type": "string", "pattern": "^a+?b*?$"}, ["a", "aab"], ["b"]),
    Case("pattern and length", {"type": "string", "pattern": "^[ab]*$", "minLength": 2, "maxLength": 4},
         ["ab", "abab"], ["a", "ababa", "cc"]),
    Case("date", {"type": "string", "format": "date"}, ["2024-02-29", "2000-02-29", "1999-12-31", "0004-02-29"],
         ["2023-02-29", "1900-02-29", "2024-13-01", "2024-04-31", "0000-01-01", "2024-1-1"]),
    Case("time", {"type": "string", "format": "time"}, ["23:59:59Z", "00:00:00.123+05:30"], ["24:00:00Z", "12:00:00"]),
    Case("date-time", {"type": "string", "format": "date-time"}, ["2024-02-29T12:00:00Z"], ["2024-02-29 12:00:00Z"]),
    Case("uuid", {"type": "string", "format": "uuid"}, ["123e4567-e89b-12d3-a456-426614174000"], ["123e4567"]),
    Case("ipv4", {"type": "string", "format": "ipv4"}, ["192.168.0.255"], ["256.1.1.1", "1.1.1", "01.1.1.1"]),
    Case("email", {"type": "string", "format": "email"}, ["a.b@example.org"], ["a", "@b", "a@-b"]),
    Case("const", {"const": "x"}, ["x"], ["y", 1]),
    Case("const object", {"const": {"a": [1, None]}}, [{"a": [1, None]}], [{"a": [1]}]),
    Case("enum", {"enum": ["a", "ab", "abc", 1, 12, None, True, {"x": [1]}]},
         ["a", "ab", "abc", 1, 12, None, True, {"x": [1]}], ["b", "", 2, False, {"x": []}]),
    Case("enum and type", {"type": "string", "enum": ["a", 1, "b", None]}, ["a", "b"], [1, None]),
    Case("enum and length", {"enum": ["a", "abc"], "maxLength": 2}, ["a"], ["abc"]),
    Case("enum and const", {"enum": ["a", "b"], "const": "b"}, ["b"], ["a"]),
    Case("one and one point nought are equal", {"enum": [1.0, True], "type": "integer"}, [], [True], ["1.0"]),
    Case("enum with quotes", {"enum": ['say "hi"', "back\\slash", "new\nline", "日本"]},
         ['say "hi"', "back\\slash", "new\nline", "日本"], ["hi"]),
    Case("person", PERSON, [{"name": "a"}, {"name": "abc", "age": 150}, {"name": "x", "tags": []},
                            {"name": "x", "age": 1, "tags": ["a", "b"]}],
         [{}, {"name": ""}, {"name": "abcdef"}, {"age": 1}, {"name": "a", "age": 151}, {"name": "a", "age": -1},
          {"name": "a", "tags": ["a", "b", "c"]}, {"name": "a", "z": 1}],
         ['{ "name": "a", "age": 7}', '{\n  "name": "a"\n}'], ['{"name":"a",}', '{"name":"a"']),
    Case("declared properties close an object", _object({"a": {"type": "null"}}), [{}, {"a": None}], [{"b": 1}]),
    Case("additional properties", _object({"a": {"type": "integer"}, "ab": {}}, additionalProperties={"type": "null"}),
         [{}, {"a": 1}, {"b": None}, {"a": 1, "abc": None, "": None}], [{"b": 1}, {"a": None}],
         [], ['{"\\u0061":null}']),
    Case("no properties at all", {"type": "object", "additionalProperties": False}, [{}], [{"a": 1}]),
    Case("any object", {"type": "object"}, [{}, {"a": {"b": [1]}}], [1, [], "a"]),
    Case("map", {"type": "object", "additionalProperties": {"type": "integer"}, "minProperties": 1, "maxProperties": 2},
         [{"a": 1}, {"a": 1, "b": 2}], [{}, {"a": "x"}, {"a": 1, "b": 2, "c": 3}]),
    Case("number of properties", _object({c: {"type": "integer"} for c in "abcd"}, minProperties=2, maxProperties=3),
         [{"a": 1, "d": 2}, {"b": 1, "c": 2, "d": 3}], [{}, {"a": 1}, dict.fromkeys("abcd", 1)]),
    Case("required without properties", {"type": "object", "required": ["a"]}, [{"a": 1}, {"a": None}], [{}]),
    Case("required among many", _object({c: {"type": "null"} for c in "abc"}, required=["b"]),
         [{"b": None}, {"a": None, "b": None, "c": None}, {"b": None, "c": None}], [{}, {"a": None}, {"a": None, "c": None}]),
    Case("an optional property that cannot be", _object({"a": False, "b": {"type": "null"}}), [{}, {"b": None}], [{"a": 1}]),
    Case("names with quotes", _object({'a"b': {"type": "null"}, "\n": {"type": "null"}, "日": {"type": "null"}}),
         [{'a"b': None, "\n": None, "日": None}], [{"ab": None}]),
    Case("array", {"type": "array", "items": {"type": "boolean"}}, [[], [True], [True] * 9], [[1], {}, [True, None]],
         ["[ true, false ]"], ["[true,]"]),
    Case("bounded array", {"type": "array", "items": {"type": "null"}, "minItems": 2, "maxItems": 3},
         [[None] * 2, [None] * 3], [[], [None], [None] * 4]),
    Case("long array", {"type": "array", "items": {"type": "null"}, "minItems": 300, "maxItems": 600},
         [[None] * 300, [None] * 513, [None] * 600], [[None] * 299, [None] * 601]),
    Case("empty array", {"type": "array", "maxItems": 0}, [[]], [[1]]),
    Case("tuple", {"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"}], "items": False},
         [[], ["a"], ["a", 1]], [[1], ["a", 1, 2], ["a", "b"]]),
    Case("tuple and more", {"type": "array", "prefixItems": [{"type": "string"}], "items": {"type": "null"},
                            "minItems": 2, "maxItems": 3},
         [["a", None], ["a", None, None]], [["a"], [None, None], ["a", None, None, None]]),
    Case("open tuple", {"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"}], "minItems": 2},
         [["a", 1], ["a", 1, None, {}]], [["a"], [], [1, 1]]),
    Case("items alone mean an array", {"items": {"type": "null"}}, [[], [None]], [[1]]),
    Case("any of", {"anyOf": [{"type": "integer"}, {"type": "array", "items": {"type": "integer"}}]}, [1, [1, 2]], ["a", ["a"]]),
    Case("any of beside properties", _object({"a": {"type": "integer"}}, anyOf=[{"required": ["a"]}, {"maxProperties": 0}]),
         [{}, {"a": 1}], [{"a": "x"}]),
    Case("one of types", {"oneOf": [{"type": "string"}, {"type": "integer"}, {"const": None}]}, ["a", 1, None], [True, []]),
    Case("one of constants", {"oneOf": [{"const": "a"}, {"const": "b"}, {"enum": ["c", 1]}]}, ["a", "b", "c", 1], ["d"]),
    Case("one of, told apart by a property",
         {"oneOf": [_object({"kind": {"const": "cat"}, "lives": {"type": "integer"}}, required=["kind", "lives"]),
                    _object({"kind": {"const": "dog"}}, required=["kind"])],
          "discriminator": {"propertyName": "kind"}},
         [{"kind": "cat", "lives": 9}, {"kind": "dog"}], [{"kind": "cat"}, {"kind": "cow"}, {}]),
    Case("all of", {"allOf": [_object({"a": {"type": "integer"}}, required=["a"]),
                              {"properties": {"b": {"type": "string"}, "a": {"minimum": 5}}}]},
         [{"a": 5}, {"a": 6, "b": "x"}], [{"a": 4}, {"b": "x"}, {}]),
    Case("all of, one closed", {"allOf": [_object({"a": {"type": "null"}}, additionalProperties=False),
                                          _object({"b": {"type": "null"}})]}, [{}, {"a": None}], [{"b": None}]),
    Case("all of numbers", {"allOf": [{"type": "number", "minimum": 1}, {"type": "integer", "maximum": 3}]}, [1, 3], [0, 4, 1.5]),
    Case("all of patterns", {"allOf": [{"type": "string", "pattern": "a"}, {"pattern": "^.{3}$"}]}, ["bab", "aaa"], ["bbb", "aa"]),
    Case("reference", {"$defs": {"x/y~z": {"type": "null"}}, "$ref": "#/$defs/x~1y~0z"}, [None], [1]),
    Case("reference with a neighbour", {"definitions": {"s": {"type": "string"}}, "$ref": "#/definitions/s", "maxLength": 1},
         ["", "a"], ["ab"]),
    Case("tree", TREE, [{"value": 1}, {"value": 1, "children": []}, {"value": 1, "children": [{"value": 2, "children": [{"value": 3}]}]}],
         [{}, {"value": 1, "children": [{}]}, {"value": 1, "x": 1}]),
    Case("list by recursion", {"$id": "https://example.org/list",
                               "anyOf": [{"type": "null"}, _object({"next": {"$ref": "#"}}, required=["next"])]},
         [None, {"next": None}, {"next": {"next": None}}], [{}, {"next": 1}]),
    Case("unique items false", {"type": "array", "items": {"type": "null"}, "uniqueItems": False}, [[None, None]]),
]  # fmt: skip


# ---- refusals ------------------------------------------------------------------------------------


def nested(levels: int, leaf: object = True) -> object:
    schema = leaf
    for _ in range(levels):
        schema = {"type": "array", "items": schema}
    return schema


def _linked(links: int) -> dict:
    definitions = {f"d{n}": {"$ref": f"#/$defs/d{n + 1}"} for n in range(links)}
    return {"$defs": {**definitions, f"d{links}": {"type": "null"}}, "$ref": "#/$defs/d0"}


REFUSED = {
    "not a schema": ("x", "a schema is an object, true or false, not 'x'"),
    "nothing fits": (False, "no value can fit"),
    "unknown keyword": ({"foo": 1}, "'foo' is not supported"),
    "unknown type": ({"type": "strin"}, "#/type"),
    "type of another shape": ({"type": [1]}, "#/type"),
    "empty list of types": ({"type": []}, "#/type"),
    "empty enum": ({"enum": []}, "#/enum"),
    "enum that is none": ({"enum": "a"}, "#/enum"),
    "enum without the type": ({"type": "string", "enum": [1, 2]}, "no value can fit"),
    "multipleOf": ({"type": "integer", "multipleOf": 3}, "multipleOf"),
    "uniqueItems": ({"type": "array", "uniqueItems": True}, "uniqueItems"),
    "patternProperties": ({"patternProperties": {"a": {}}}, "patternProperties"),
    "not": ({"not": {}}, "'not'"),
    "if": ({"if": {}}, "'if'"),
    "contains": ({"contains": {}}, "'contains'"),
    "unevaluatedProperties": ({"unevaluatedProperties": False}, "unevaluatedProperties"),
    "propertyNames": ({"propertyNames": {}}, "propertyNames"),
    "dependentRequired": ({"dependentRequired": {}}, "dependentRequired"),
    "$anchor": ({"$anchor": "a"}, "$anchor"),
    "$dynamicRef": ({"$dynamicRef": "#a"}, "$dynamicRef"),
    "$id below the root": ({"items": {"$id": "x"}}, "$id"),
    "tuple of draft 7": ({"items": [{}]}, "prefixItems"),
    "boolean exclusiveMinimum": ({"exclusiveMinimum": True}, "exclusiveMinimum"),
    "unknown format": ({"type": "string", "format": "color"}, "#/format"),
    "negative length": ({"minLength": -1}, "#/minLength"),
    "length that is no number": ({"maxLength": "3"}, "#/maxLength"),
    "length with a fraction": ({"maxLength": 2.5}, "#/maxLength"),
    "length upside down": ({"minLength": 5, "maxLength": 3}, "minLength 5 is more than maxLength 3"),
    "endless least length": ({"type": "string", "minLength": 10**9}, "at most"),
    "items upside down": ({"minItems": 2, "maxItems": 1}, "minItems 2"),
    "more items than the tuple has": ({"prefixItems": [{}], "items": False, "minItems": 2}, "at most 1"),
    "endless least items": ({"type": "array", "minItems": 10**9}, "at most"),
    "range upside down": ({"type": "integer", "minimum": 10, "maximum": 5}, "between 10 and 5"),
    "range without an integer": ({"type": "integer", "minimum": 0.2, "maximum": 0.8}, "between 0.2"),
    "integer beyond 18 digits": ({"type": "integer", "minimum": 10**20}, "18 digits"),
    "required property that cannot be": ({"properties": {"a": False}, "required": ["a"]}, "'a'"),
    "required property that is closed out": (
        {"type": "object", "additionalProperties": False, "required": ["a"]}, "'a'"),
    "too few properties": ({"properties": {"a": {}}, "minProperties": 2}, "minProperties"),
    "two additional properties cannot be told apart": ({"type": "object", "minProperties": 2}, "minProperties"),
    "too many required": ({"required": ["a", "b"], "maxProperties": 1}, "maxProperties"),
    "properties that are none": ({"properties": []}, "#/properties"),
    "property that is no schema": ({"properties": {"a": 1}}, "#/properties"),
    "required that is no list": ({"required": "a"}, "#/required"),
    "empty anyOf": ({"anyOf": []}, "#/anyOf"),
    "overlapping oneOf": ({"oneOf": [{"type": "string"}, {"type": "string", "maxLength": 3}]}, "#/oneOf/1"),
    "oneOf of objects without a difference": (
        {"oneOf": [_object({"a": {}}, required=["a"]), _object({"b": {}}, required=["b"])]}, "#/oneOf/1"),
    "integer and number overlap": ({"oneOf": [{"type": "integer"}, {"type": "number"}]}, "#/oneOf/1"),
    "remote reference": ({"$ref": "https://example.org/x"}, "only references within"),
    "reference to an anchor": ({"$ref": "#x"}, "only references within"),
    "reference to nothing": ({"$ref": "#/a"}, "leads to nothing"),
    "reference to itself": ({"$ref": "#"}, "itself"),
    "loop of references": ({"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"allOf": [{"$ref": "#/$defs/a"}]}},
                            "$ref": "#/$defs/a"}, "itself"),
    "left recursion": ({"anyOf": [{"$ref": "#"}, {"type": "string"}]}, "itself"),
    "object that needs itself": (_object({"a": {"$ref": "#"}}, required=["a"]), "without end"),
    "array that needs itself": ({"type": "array", "items": {"$ref": "#"}, "minItems": 1}, "without end"),
    "recursion in alternatives that begin alike": (
        {"anyOf": [_object({"k": {"$ref": "#"}}, required=["k"]),
                   _object({"k": {"$ref": "#"}, "b": {}}, required=["k"]), {"type": "null"}]}, "readings"),
    "long chain of references": (_linked(200), "in a row"),
    "pattern with look-ahead": ({"pattern": "^(?=a)"}, "look-around"),
    "pattern with a back reference": ({"pattern": "(a)\\1"}, "escape"),
    "pattern with a word border": ({"pattern": "\\bx"}, "escape"),
    "pattern with a property class": ({"pattern": "\\p{L}"}, "escape"),
    "pattern with an inner anchor": ({"pattern": "a^b"}, "'^'"),
    "pattern with an open group": ({"pattern": "(a"}, "closing"),
    "pattern with an open class": ({"pattern": "[a"}, "closing"),
    "pattern with bounds upside down": ({"pattern": "a{3,2}"}, "order"),
    "pattern that repeats nothing": ({"pattern": "*a"}, "unexpected"),
    "pattern that repeats too often": ({"pattern": "a{100000}"}, "at most"),
    "pattern with too many states": ({"pattern": "^(a|b)*a(a|b){12}$"}, "states"),
    "pattern that explodes": ({"pattern": "((a{50}){50}){50}"}, "states"),
    "pattern that nothing fits": ({"pattern": "^[^\\x00-\\u{10FFFF}]$"}, "no text fits"),
    "pattern and length without a text": ({"pattern": "^ab$", "minLength": 3}, "no text fits"),
    "deep nesting": (nested(100_000), "deeper than 64"),
    "half a surrogate pair": ({"const": "\ud800"}, "surrogate"),
    "half a surrogate pair in a name": ({"properties": {"\udc00": {}}}, "surrogate"),
    "not a number": ({"const": float("nan")}, "finite"),
    "infinity": ({"maximum": float("inf")}, "finite"),
    "integer of 2000 bits": ({"const": 2**2000}, "bits"),
    "too large": ({"enum": ["x" * 1000] * 300}, "larger than"),
    "too many combinations": (
        {"allOf": [{"anyOf": [{"minimum": n} for n in range(30)]} for _ in range(4)]}, "alternatives"),
    "too many properties": (_object({f"p{n}": {} for n in range(2000)}), "begin"),
    "a constant beside a keyword for objects": ({"const": {"a": 1}, "required": ["a"]}, "not supported"),
}  # fmt: skip
"""Name → schema and a part of the message. Some of them crash or hang a naive converter or the native parser."""


# ---- an independent judge ------------------------------------------------------------------------


def _is_type(value: object, name: str) -> bool:
    if name == "integer":
        return (
            isinstance(value, int | float) and not isinstance(value, bool) and value == int(value)
        )
    if name == "number":
        return isinstance(value, int | float) and not isinstance(value, bool)
    types = {"null": type(None), "boolean": bool, "string": str, "array": list, "object": dict}
    return type(value) is types[name]


def fits(schema: Any, value: Any, root: Any = None) -> bool:
    """A plain validator for the keywords that `schemas` draws, written straight from the specification."""
    root = schema if root is None else root
    if isinstance(schema, bool):
        return schema
    if "$ref" in schema:
        target = root
        for step in schema["$ref"].split("/")[1:]:
            target = target[step]
        if not fits(target, value, root):
            return False
    names = schema.get("type", [])
    names = [names] if isinstance(names, str) else names
    checks = [
        not names or any(_is_type(value, name) for name in names),
        "enum" not in schema or any(same(value, other) for other in schema["enum"]),
        "const" not in schema or same(value, schema["const"]),
        all(fits(part, value, root) for part in schema.get("allOf", [])),
        "anyOf" not in schema or any(fits(part, value, root) for part in schema["anyOf"]),
        "oneOf" not in schema or sum(fits(part, value, root) for part in schema["oneOf"]) == 1,
    ]
    if isinstance(value, str):
        checks.append(schema.get("minLength", 0) <= len(value) <= schema.get("maxLength", 10**9))
        pattern = schema.get("pattern", "").replace("$", r"\Z").replace("(?<x>", "(?:")
        checks.append(re.search(pattern, value) is not None)
    if _is_type(value, "number"):
        checks.append(schema.get("minimum", value) <= value <= schema.get("maximum", value))
        checks.append("exclusiveMinimum" not in schema or value > schema["exclusiveMinimum"])
        checks.append("exclusiveMaximum" not in schema or value < schema["exclusiveMaximum"])
    if isinstance(value, list):
        checks.append(schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", 10**9))
        prefix = schema.get("prefixItems", [])
        checks += [fits(part, item, root) for part, item in zip(prefix, value, strict=False)]
        checks += [fits(schema.get("items", True), item, root) for item in value[len(prefix) :]]
    if isinstance(value, dict):
        count = len(value)
        checks.append(schema.get("minProperties", 0) <= count <= schema.get("maxProperties", 10**9))
        checks += [name in value for name in schema.get("required", [])]
        known = schema.get("properties", {})
        rest = schema.get("additionalProperties", True)
        checks += [fits(known.get(name, rest), item, root) for name, item in value.items()]
    return all(checks)


def same(one: object, other: object) -> bool:
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    return one == other


# ---- random schemas ------------------------------------------------------------------------------

_SMALL = st.integers(0, 4)
_NAMES = st.sampled_from(["a", "b", "ab", 'q"', "日", ""])
_SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-3, 3)
    | st.sampled_from(["", "a", "ab", "b", "\n", 1.5])
)
_PATTERNS = st.sampled_from(
    ["a", "^a", "b$", "^[ab]{1,3}$", "^a*b?$", "a|b", "^$", "^(ab|b)+$", '["\\\\]', "^.$"]
)


def _maybe(**keywords: st.SearchStrategy) -> st.SearchStrategy[dict]:
    return st.fixed_dictionaries({}, optional=keywords)


def _typed(name: str, **keywords: st.SearchStrategy) -> st.SearchStrategy[dict]:
    return st.builds(lambda more: {"type": name, **more}, _maybe(**keywords))


_BOUNDS = st.integers(-50, 50) | st.sampled_from([-1.5, 0.25, 7.125, 0.1])
_LEAVES = st.one_of(
    st.booleans(),
    st.sampled_from([{}, {"type": "null"}, {"type": "boolean"}, {"type": ["string", "integer"]}]),
    st.builds(lambda value: {"const": value}, _SCALARS),
    st.builds(lambda values: {"enum": values}, st.lists(_SCALARS, min_size=1, max_size=4)),
    _typed("string", minLength=_SMALL, maxLength=_SMALL, pattern=_PATTERNS),
    _typed("integer", minimum=_BOUNDS, maximum=_BOUNDS, exclusiveMinimum=_BOUNDS),
    _typed("number", minimum=_BOUNDS, maximum=_BOUNDS, exclusiveMaximum=_BOUNDS),
    st.just({"$ref": "#/$defs/shared"}),
)


def _branches(inner: st.SearchStrategy) -> st.SearchStrategy:
    properties = st.dictionaries(_NAMES, inner, max_size=3)
    several = st.lists(inner, min_size=1, max_size=3)
    return st.one_of(
        _typed("array", items=inner, prefixItems=several, minItems=_SMALL, maxItems=_SMALL),
        _typed("object", properties=properties, required=st.lists(_NAMES, max_size=2, unique=True),
               additionalProperties=inner, minProperties=_SMALL, maxProperties=_SMALL),
        st.builds(lambda parts: {"anyOf": parts}, several),
        st.builds(lambda parts: {"oneOf": parts}, several),
        st.builds(lambda parts: {"allOf": parts}, st.lists(inner, min_size=1, max_size=2)),
    )  # fmt: skip


def schemas() -> st.SearchStrategy[dict]:
    """Schemas of all supported keywords, many of which nothing fits; recursion through `#/$defs/shared`."""
    inner = st.recursive(_LEAVES, _branches, max_leaves=8)
    return st.builds(
        lambda top, shared: {"$defs": {"shared": shared}, "allOf": [top]}, inner, inner
    )
