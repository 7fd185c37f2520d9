"""Words that people write for numbers and switches."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from homeai.settings.parsing import parse_auto, parse_list, parse_mib, parse_switch


@pytest.mark.parametrize(
    ("text", "mib"),
    [
        ("512", 512),
        ("512M", 512),
        ("512 MiB", 512),
        ("8G", 8192),
        ("8 gib", 8192),
        ("1.5g", 1536),
        ("2048 kB", 2),
        ("1T", 1_048_576),
        (" 7 ", 7),
        (7, 7),
    ],
)
def test_sizes_are_understood(text, mib):
    assert parse_mib(text) == mib


@pytest.mark.parametrize(
    "text", ["", "G", "-1", "1.5", "1k", "8X", "8 G B", "1e3", "0.1G", "nan", True]
)
def test_what_is_no_whole_number_of_mib_is_refused(text):
    with pytest.raises(ValueError, match=r"size|whole"):
        parse_mib(text)


@given(st.integers(0, 10**9))
def test_a_size_in_gib_is_exact_however_large(gib):
    assert parse_mib(f"{gib}G") == gib * 1024


def test_a_size_beyond_any_float_is_a_number_still():
    assert parse_mib("9" * 400) == int("9" * 400)


@pytest.mark.parametrize("word", ["1", "true", "YES", " on ", 1, True], ids=repr)
def test_yes_in_all_its_forms(word):
    assert parse_switch(word) is True


@pytest.mark.parametrize("word", ["0", "False", "no", "OFF", 0, False], ids=repr)
def test_no_in_all_its_forms(word):
    assert parse_switch(word) is False


@pytest.mark.parametrize("word", ["", "ja", "2", "y", None, 1.0], ids=repr)
def test_other_words_are_no_switch(word):
    with pytest.raises(ValueError, match="yes or no"):
        parse_switch(word)


def test_a_list_is_split_at_commas_and_empty_parts_vanish():
    assert parse_list(" a, b c ,,") == ["a", "b c"]
    assert parse_list(["a,b"]) == ["a,b"]


def test_auto_is_read_in_any_case_and_digits_become_a_number():
    assert parse_auto(" Auto ") == "auto"
    assert parse_auto("12") == 12
    assert parse_auto(3) == 3
