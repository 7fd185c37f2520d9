import pytest

from homeai.domain.errors import InvalidSchema
from homeai.structured.automaton import counted, excluding, intersect
from homeai.structured.expression import common, minus
from homeai.structured.pattern import pattern_automaton


def test_an_intersection_accepts_what_both_accept():
    both = intersect(pattern_automaton("a"), pattern_automaton("^.{2}$"))
    assert [text for text in ("a", "ab", "ba", "bb", "aab") if both.accepts(text)] == ["ab", "ba"]


def test_an_intersection_without_a_text_is_void():
    assert intersect(pattern_automaton("^a$"), pattern_automaton("^b$")).is_void
    assert intersect(
        intersect(pattern_automaton("^a$"), pattern_automaton("^b$")), pattern_automaton("a")
    ).is_void


@pytest.mark.parametrize(
    ("low", "high", "kept"), [(0, None, 5), (2, None, 3), (0, 1, 2), (2, 3, 2), (9, None, 0)]
)
def test_counting_keeps_texts_of_the_wanted_length(low, high, kept):
    automaton = counted(pattern_automaton("^a{0,4}$"), low, high)
    assert sum(automaton.accepts("a" * length) for length in range(12)) == kept


def test_excluding_accepts_everything_but_the_values():
    automaton = excluding(["a", "abc", ""])
    assert [
        text for text in ("", "a", "ab", "abc", "abcd", "b", "日") if not automaton.accepts(text)
    ] == ["", "a", "abc"]


def test_states_from_which_no_text_ends_are_dropped():
    automaton = intersect(pattern_automaton("^a*b$"), pattern_automaton("^[ab]{3}$"))
    assert len(automaton.edges) == 4


@pytest.mark.parametrize(
    "pattern", ["^(a|b)*a(a|b){14}$", "^" + "(a?){40}" * 40 + "$", "(a{1000}b{1000}){8}"]
)
def test_what_would_grow_too_large_is_given_up(pattern):
    with pytest.raises(InvalidSchema, match="states"):
        pattern_automaton(pattern)


def test_excluding_a_very_long_name_is_given_up():
    with pytest.raises(InvalidSchema, match="states"):
        excluding(["x" * 100_000])


def test_sets_of_characters_are_subtracted_and_intersected():
    assert minus(((0, 10), (20, 30)), ((5, 6), (9, 22), (30, 40))) == ((0, 4), (7, 8), (23, 29))
    assert common(((0, 10), (20, 30)), ((5, 6), (9, 22))) == ((5, 6), (9, 10), (20, 22))
