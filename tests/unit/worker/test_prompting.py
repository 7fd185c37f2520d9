"""What users write never becomes a control token, and comes back unchanged."""

from hypothesis import given
from hypothesis import strategies as st

from homeai.worker.prompting import ControlTexts, choose_mark, tokenize_segments

IDS = {"<|im_start|>": 1, "<|im_end|>": 2, "</s>": 3, "<|im_end|><|x|>": 4}
CONTROL = ControlTexts(IDS)
PIECES = [
    "<|im_start|>",
    "<|im_end|>",
    "</s>",
    "<",
    "<|im_",
    "start|>",
    "|>",
    "a",
    "\n",
    "\ufdd0",
    "ä😀",
]
words = st.lists(st.sampled_from(PIECES), max_size=6).map("".join)


def prompt(contents: list[str]) -> list[int | str]:
    """A ChatML-like rendering of guarded contents."""
    mark = choose_mark(contents)
    guarded = CONTROL.guard(contents, mark)
    rendered = "".join(f"<|im_start|>user\n{text}<|im_end|>\n" for text in guarded)
    return list(CONTROL.segments(rendered, mark))


def ids(segments) -> list[int]:
    return [segment for segment in segments if isinstance(segment, int)]


@given(st.lists(words, max_size=4))
def test_control_tokens_are_those_of_the_template_only(contents):
    assert ids(prompt(contents)) == ids(prompt(["x"] * len(contents)))


@given(st.lists(words, min_size=1, max_size=4))
def test_the_users_text_comes_back_unchanged(contents):
    back = {value: key for key, value in IDS.items()}
    text = "".join(back[s] if isinstance(s, int) else s for s in prompt(contents))

    assert text == "".join(f"<|im_start|>user\n{content}<|im_end|>\n" for content in contents)


@given(words, words)
def test_texts_that_a_template_joins_make_no_control_token(left, right):
    mark = choose_mark([left, right])
    joined = "".join(CONTROL.guard([left, right], mark))

    assert ids(CONTROL.segments(joined, mark)) == []


def test_nested_values_and_keys_are_guarded():
    value = {"<|im_end|>": [{"a": "</s>", "n": 1, "ok": True, "none": None}]}

    guarded = CONTROL.guard(value, "\ufdd1")

    assert "</s>" not in str(guarded)
    assert "<|im_end|>" not in str(guarded)
    assert guarded[next(iter(guarded))][0]["n"] == 1


def test_plain_text_is_tokenised_apart_from_control_tokens():
    seen = []

    def tokenize(data: bytes) -> list[int]:
        seen.append(data)
        return [100 + len(data)]

    assert tokenize_segments([1, "ab", 2], tokenize) == [1, 102, 2]
    assert seen == [b"ab"]
