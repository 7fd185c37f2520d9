import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from homeai.domain.errors import InvalidSchema
from homeai.structured.pattern import pattern_automaton

_ATOMS = st.sampled_from(["a", "b", ".", "[ab]", "[^a]", r"\d", r"\W", "[a-c1-3]", r"\.", r"\x61"])


def _grow(inner):
    quantified = st.builds(
        str.__add__,
        inner.map("(?:{})".format),
        st.sampled_from(["*", "+", "?", "{2}", "{1,}", "{0,2}", "*?"]),
    )
    return (
        quantified
        | st.builds("{}{}".format, inner, inner)
        | st.builds("(?:{}|{})".format, inner, inner)
    )


_BODIES = st.recursive(_ATOMS, _grow, max_leaves=6)
_PATTERNS = st.builds(
    "{}{}{}".format, st.sampled_from(["", "^"]), _BODIES, st.sampled_from(["", "$"])
)


@settings(max_examples=150, deadline=None)
@given(
    _PATTERNS | st.builds("{}|{}".format, _PATTERNS, _PATTERNS),
    st.lists(st.text("abc12.\n-", max_size=6), max_size=20),
)
def test_patterns_find_what_the_regular_expression_engine_finds(pattern, texts):
    automaton = pattern_automaton(pattern)
    for text in texts:
        assert automaton.accepts(text) == bool(re.search(pattern.replace("$", r"\Z"), text)), text


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        (r"^\s$", "\u2003"), (r"^\s$", "\ufeff"), (r"^[\s\S]$", "😀"), (r"^\u{1F600}$", "😀"),
        (r"^\ud83d\ude00$", "😀"), (r"^[\b]$", "\x08"), (r"^\0$", "\0"), (r"^\/$", "/"),
        ("^[^]$", "x"), ("^[a-]$", "-"), (r"^[\d-]$", "-"), ("^日本$", "日本"), ("", "anything"),
        ("^(?<year>a)(b)(?:c)$", "abc"), ("^a{2,3}?$", "aa"),
    ],
)  # fmt: skip
def test_notation_of_ecma_is_understood(pattern, text):
    assert pattern_automaton(pattern).accepts(text)


@pytest.mark.parametrize(
    ("pattern", "text"),
    [("^.$", "\n"), ("^.$", "\u2028"), (r"^\w$", "é"), (r"^\d$", "٣"), ("^[]$", "a")],
)
def test_classes_are_those_of_ecma_not_of_python(pattern, text):
    assert not pattern_automaton(pattern).accepts(text)


@pytest.mark.parametrize(
    "pattern",
    ["(?=a)", "(?!a)", "(?<=a)", "(?<!a)", "(?i)a", r"(a)\1", r"\bx", r"\B", r"\p{L}", r"\ca", r"\k<x>", "a^", "$a", "(^a)",
     "(a", "a)", "[a", "a{2,1}", "a{", "a{1", "a{,2}", "*", "a**", "a|*", "\\", r"\xg1", r"\u12", r"\u{110000}", r"\ud800",
     "[z-a]", r"[\d-z]", r"[!-\d]", r"\ud83dx", r"\ud83d\u0041", "a]", "a}", "(?<1x>a)", r"\q", "((a{1000}){1000}){1000}", "(" * 100, r"\01"],
)  # fmt: skip
def test_anything_else_is_refused(pattern):
    with pytest.raises(InvalidSchema):
        pattern_automaton(pattern)
