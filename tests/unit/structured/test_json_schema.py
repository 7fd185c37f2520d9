import json

import pytest

from homeai.domain.errors import InvalidSchema
from homeai.structured.gbnf import analysed
from homeai.structured.json_schema import any_json, schema_to_gbnf
from homeai.structured.limits import GENERATED
from homeai.structured.matcher import matches
from tests.fakes.json_schemas import CASES, PERSON, REFUSED, TREE, Case, fits, nested


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_exactly_what_fits_is_accepted(case: Case):
    grammar = analysed(schema_to_gbnf(case.schema), limits=GENERATED)
    assert [text for text in case.good() if not matches(grammar, text)] == []
    assert [text for text in case.bad() if matches(grammar, text)] == []


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_cases_agree_with_the_specification(case: Case):
    assert all(fits(case.schema, value) for value in case.fits if _judged(case))


def _judged(case: Case) -> bool:
    # The plain judge knows neither formats nor escaped pointers.
    return "format" not in case.schema_text and "~" not in case.schema_text


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_kept_is_refused_with_a_reason(name):
    schema, reason = REFUSED[name]
    with pytest.raises(InvalidSchema) as caught:
        schema_to_gbnf(schema)
    assert reason in caught.value.message
    assert caught.value.param == "response_format"
    assert len(caught.value.message) < 600


def test_a_refusal_names_the_place():
    with pytest.raises(InvalidSchema) as caught:
        schema_to_gbnf({"properties": {"a/b": {"items": {"type": "strin"}}}})
    assert caught.value.details["pointer"] == "#/properties/a~1b/items/type"


def test_unused_definitions_are_not_looked_at():
    schema_to_gbnf({"$defs": {"unused": {"not": {}}}, "type": "null"})


def test_large_schemas_are_served():
    wide = {
        "type": "object",
        "properties": {f"field{n}": {"type": "string", "maxLength": 20} for n in range(250)},
    }
    grammar = analysed(schema_to_gbnf(wide), limits=GENERATED)
    assert matches(grammar, '{"field7":"a","field249":"b"}')
    assert not matches(grammar, '{"field249":"a","field7":"b"}')


def test_a_large_enum_is_read_in_one_way():
    values = [f"value number {n}" for n in range(2000)]
    grammar = analysed(schema_to_gbnf({"enum": values}), limits=GENERATED)
    assert all(matches(grammar, json.dumps(value)) for value in values[::97])
    assert not matches(grammar, '"value number 2000"')


def test_nesting_just_below_the_limit_is_served():
    schema_to_gbnf(nested(30, {"type": "null"}))


def test_equal_bounds_share_their_rules():
    one = {"type": "integer", "minimum": 3}
    many = {"type": "object", "properties": {f"p{n}": one for n in range(50)}}
    assert schema_to_gbnf(many).count("n-") < 3 * schema_to_gbnf({"properties": {"p": one}}).count(
        "n-"
    )


@pytest.mark.parametrize("schema", [PERSON, TREE], ids=["person", "tree"])
def test_the_same_schema_gives_the_same_grammar(schema):
    assert schema_to_gbnf(schema) == schema_to_gbnf(json.loads(json.dumps(schema)))


@pytest.mark.parametrize(("kind", "good", "bad"), [("value", "[1]", "x"), ("object", "{}", "[1]")])
def test_any_json_passes_the_gate(kind, good, bad):
    grammar = analysed(any_json(kind))
    assert matches(grammar, good)
    assert not matches(grammar, bad)


def test_blanks_are_bounded():
    grammar = analysed(any_json("object"))
    assert matches(grammar, "{\n" + " " * 24 + "}")
    assert not matches(grammar, "{\n" + " " * 25 + "}")
    assert not matches(grammar, "{  }")
