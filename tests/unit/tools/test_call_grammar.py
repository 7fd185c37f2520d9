"""A forced call follows the schema of its tool, references and all."""

from __future__ import annotations

import pytest

from homeai.domain.errors import InvalidSchema
from homeai.structured.gbnf import analysed
from homeai.structured.limits import GENERATED
from homeai.structured.matcher import matches
from homeai.tools.grammar import calls_grammar
from homeai.tools.offer import Offer, Tool

TREE = {
    "type": "object",
    "properties": {"tree": {"$ref": "#/$defs/node"}, "$ref": {"const": {"$ref": "#/x"}}},
    "required": ["tree"],
    "additionalProperties": False,
    "$defs": {
        "node": {
            "type": "object",
            "properties": {"children": {"type": "array", "items": {"$ref": "#/$defs/node"}}},
            "additionalProperties": False,
        }
    },
}
ADD = Tool(
    "add",
    {
        "type": "object",
        "properties": {"a": {"type": "integer"}},
        "required": ["a"],
        "additionalProperties": False,
    },
)


def accepts(offer: Offer, text: str) -> bool:
    return matches(analysed(calls_grammar(offer), limits=GENERATED), text)


def call(name: str, arguments: str) -> str:
    return f'<tool_call>\n{{"name": "{name}", "arguments": {arguments}}}\n</tool_call>'


def test_only_calls_of_offered_tools_fit():
    offer = Offer((ADD, Tool("tree", TREE)))

    assert accepts(offer, call("add", '{"a": 12}'))
    assert accepts(offer, call("tree", '{"tree": {"children": [{"children": []}, {}]}}'))
    assert not accepts(offer, call("add", '{"a": "12"}'))
    assert not accepts(offer, call("add", '{"tree": {}}'))
    assert not accepts(offer, call("bomb", "{}"))
    assert not accepts(offer, "Hello")
    assert not accepts(offer, "")


def test_data_that_looks_like_a_reference_stays_data():
    offer = Offer((Tool("tree", TREE),))

    assert accepts(offer, call("tree", '{"tree": {}, "$ref": {"$ref":"#/x"}}'))


def test_several_calls_fit_where_they_are_allowed():
    two = call("add", '{"a": 1}') + "\n" + call("add", '{"a": 2}')

    assert accepts(Offer((ADD,)), two)
    assert not accepts(Offer((ADD,), parallel=False), two)


def test_a_schema_that_cannot_be_kept_names_its_tool():
    wrong = Tool("odd", {"type": "object", "properties": {"x": {"not": {"type": "string"}}}})

    with pytest.raises(InvalidSchema, match=r"tools\.odd\.parameters") as caught:
        calls_grammar(Offer((ADD, wrong)))
    assert caught.value.param == "tools"
