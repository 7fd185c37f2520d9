import pytest

from homeai.domain.errors import InvalidSchema
from homeai.structured.gbnf import analysed, validate
from homeai.structured.limits import Limits
from homeai.structured.matcher import matches
from tests.fakes.gbnf_texts import ACCEPTED, REFUSED


@pytest.mark.parametrize("name", ACCEPTED)
def test_what_the_engine_can_use_passes(name):
    text, good, bad = ACCEPTED[name]
    grammar = analysed(text)
    assert [answer for answer in good if not matches(grammar, answer)] == []
    assert [answer for answer in bad if matches(grammar, answer)] == []


@pytest.mark.parametrize("name", REFUSED)
def test_what_it_cannot_survive_is_refused_with_a_reason(name):
    text, reason = REFUSED[name]
    with pytest.raises(InvalidSchema) as caught:
        validate(text)
    assert reason in caught.value.message
    assert caught.value.param == "grammar"
    assert len(caught.value.message) < 400


def test_an_error_names_line_and_column():
    with pytest.raises(InvalidSchema, match="line 3, column 9") as caught:
        validate('root ::= a\n\na ::= "b\\q"\n')
    assert (caught.value.details["line"], caught.value.details["column"]) == (3, 9)


def test_the_text_is_limited_in_bytes_not_characters():
    limits = Limits(text_bytes=40)
    validate('root ::= "' + "a" * 20 + '"', limits=limits)
    with pytest.raises(InvalidSchema, match="43 bytes"):
        validate('root ::= "' + "é" * 16 + '"', limits=limits)


def test_a_repetition_is_counted_as_the_engine_writes_it_out():
    grammar = analysed('root ::= "ab"{2,4} "c"*')
    # root: abab, then the chain of two optional rules; the loop of "c"
    assert [len(rule.alternatives) for rule in grammar.rules] == [1, 2, 2, 2]
    assert grammar.rules[0].weight == 4 + 1 + 1 + 1


def test_the_number_of_rules_is_limited():
    many = "\n".join(f'r{n} ::= "a"' for n in range(3000))
    with pytest.raises(InvalidSchema, match="more than 2000 rules"):
        validate(f"root ::= r0\n{many}")
