import pytest

from homeai.domain.errors import BadRequest, InvalidSchema
from homeai.structured import raw_grammar, response_format
from homeai.structured.gbnf import analysed
from homeai.structured.limits import GENERATED
from homeai.structured.matcher import matches


def _schema(**more: object) -> dict:
    return {"type": "json_schema", "json_schema": {"name": "x", "schema": {"type": "null"}, **more}}


@pytest.mark.parametrize("value", [None, {"type": "text"}])
def test_free_text_needs_no_grammar(value):
    assert response_format(value) is None


def test_json_object_is_any_object():
    grammar = analysed(response_format({"type": "json_object"}))
    assert matches(grammar, '{"a": [1]}')
    assert not matches(grammar, "[1]")


@pytest.mark.parametrize("strict", [True, False, None])
def test_a_schema_is_kept_whether_strict_or_not(strict):
    grammar = analysed(response_format(_schema(strict=strict, description="d")), limits=GENERATED)
    assert matches(grammar, "null")
    assert not matches(grammar, "1")


@pytest.mark.parametrize(
    ("value", "param"),
    [
        ("json", "response_format"),
        ([], "response_format"),
        ({}, "response_format.type"),
        ({"type": "xml"}, "response_format.type"),
        ({"type": ["text"]}, "response_format.type"),
        ({"type": "text", "schema": {}}, "response_format"),
        ({"type": "json_object", "schema": {}}, "response_format"),
        ({"type": "json_schema"}, "response_format.json_schema"),
        ({"type": "json_schema", "json_schema": []}, "response_format.json_schema"),
        (
            {"type": "json_schema", "json_schema": {"schema": {}}},
            "response_format.json_schema.name",
        ),
        (_schema(name=""), "response_format.json_schema.name"),
        (_schema(name="a b"), "response_format.json_schema.name"),
        (_schema(name="a" * 65), "response_format.json_schema.name"),
        (_schema(schema=None), "response_format.json_schema.schema"),
        (_schema(schema="{}"), "response_format.json_schema.schema"),
        (_schema(strict="yes"), "response_format.json_schema.strict"),
        (_schema(strict=1), "response_format.json_schema.strict"),
        (_schema(description=1), "response_format.json_schema.description"),
        (_schema(more=1), "response_format.json_schema"),
    ],
)
def test_a_wrong_shape_is_refused_and_named(value, param):
    with pytest.raises(BadRequest) as caught:
        response_format(value)
    assert caught.value.param == param
    assert not isinstance(caught.value, InvalidSchema)


def test_a_schema_that_cannot_be_kept_names_the_field():
    with pytest.raises(InvalidSchema) as caught:
        response_format(_schema(schema={"not": {}}))
    assert caught.value.param == "response_format.json_schema.schema"


def test_a_grammar_passes_as_it_is():
    text = 'root ::= "yes" | "no"'
    assert raw_grammar(text) == text
    assert raw_grammar(None) is None


@pytest.mark.parametrize("value", [1, ["root ::= x"], {}, True])
def test_a_grammar_that_is_no_text_is_refused(value):
    with pytest.raises(BadRequest, match="must be a text"):
        raw_grammar(value)


@pytest.mark.parametrize("text", ["", "yes or no", "root ::= root"])
def test_a_grammar_that_cannot_be_used_is_refused(text):
    with pytest.raises(InvalidSchema):
        raw_grammar(text)
