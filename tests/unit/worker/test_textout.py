"""Text that is safe to show, whatever way its bytes are cut."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from homeai.worker.textout import TextOut

texts = st.text(
    alphabet=st.sampled_from("abcdEND\n \u00e4\u00df\u4e2d\U0001f600\u200d"), max_size=30
)
stop_lists = st.lists(st.text(alphabet="abcdEND\n", min_size=1, max_size=4), max_size=3)


def cut(data: bytes, points: list[int]) -> list[bytes]:
    edges = sorted({0, len(data), *(p % (len(data) + 1) for p in points)})
    return [data[a:b] for a, b in pairwise(edges)]


def whole(text: str, stops: list[str]) -> str:
    """What should be shown: up to the stop string that is complete first, longest if several are."""
    for end in range(len(text) + 1):
        done = [end - len(s) for s in stops if len(s) <= end and text.endswith(s, 0, end)]
        if done:
            return text[: min(done)]
    return text


@given(texts, stop_lists, st.lists(st.integers(0, 200), max_size=8))
def test_the_result_does_not_depend_on_how_the_bytes_are_cut(text, stops, points):
    out = TextOut(stops)

    shown = "".join(out.push(piece) for piece in cut(text.encode(), points))
    shown += out.push(b"", final=True)

    assert shown == whole(text, stops)


@given(texts, stop_lists, st.lists(st.integers(0, 200), max_size=8))
def test_no_part_of_a_stop_string_ever_leaks(text, stops, points):
    out, shown = TextOut(stops), ""

    for piece in cut(text.encode(), points):
        shown += out.push(piece)
        assert whole(text, stops).startswith(shown)


@given(texts, stop_lists, st.lists(st.integers(0, 200), max_size=8), st.integers(0, 100))
def test_a_replayed_answer_continues_without_gap_or_repeat(text, stops, points, at):
    pieces = cut(text.encode(), points)
    split = at % (len(pieces) + 1)
    first = TextOut(stops)
    sent = "".join(first.push(piece) for piece in pieces[:split])

    second = TextOut(stops)
    rest = second.replay(pieces[:split], len(sent))
    rest += "".join(second.push(piece) for piece in pieces[split:]) + second.push(b"", final=True)

    assert sent + rest == whole(text, stops)


def test_the_first_stop_in_the_text_wins_not_the_first_in_the_list():
    out = TextOut(["world", "hello"])

    assert out.push(b"say hello world") == "say "
    assert out.stopped


def test_an_unfinished_character_is_shown_as_such_at_the_end():
    out = TextOut()

    assert out.push("ä".encode()[:1]) == ""
    assert out.push(b"", final=True) == "\ufffd"


def test_empty_stop_strings_are_refused():
    with pytest.raises(ValueError, match="must not be empty"):
        TextOut(["a", ""])
