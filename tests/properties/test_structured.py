import json
import subprocess
import sys
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from homeai.domain.errors import BadRequest, InvalidSchema
from homeai.structured import response_format
from homeai.structured.analysis import productive
from homeai.structured.gbnf import analysed
from homeai.structured.json_schema import schema_to_gbnf
from homeai.structured.limits import CLIENT, GENERATED, Limits
from homeai.structured.matcher import matches
from tests.fakes.gbnf_samples import heights, sample
from tests.fakes.gbnf_texts import ACCEPTED
from tests.fakes.json_schemas import fits, schemas

_PROGRAM = Path(__file__).parents[1] / "fakes" / "native_grammar.py"
_CHANCE = st.randoms(use_true_random=True)

_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)


def _grammar_or_none(text: str, limits: Limits = CLIENT):
    try:
        return analysed(text, limits=limits)
    except InvalidSchema:
        return None


# ---- schemas -------------------------------------------------------------------------------------


@settings(max_examples=250, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(schemas(), _CHANCE)
def test_whatever_a_schema_grammar_produces_fits_the_schema(schema, chance):
    try:
        text = schema_to_gbnf(schema)
    except InvalidSchema:
        return
    grammar = analysed(text, limits=GENERATED)
    least = heights(grammar)
    for _ in range(15):
        produced = sample(grammar, least, chance)
        assert fits(schema, json.loads(produced)), produced


@settings(max_examples=150, deadline=None)
@given(_JSON)
def test_no_json_value_breaks_the_reading_of_a_response_format(value):
    for given_value in (
        value,
        {"type": value},
        {"type": "json_schema", "json_schema": {"name": "n", "schema": value}},
    ):
        try:
            assert isinstance(response_format(given_value), str | None)
        except BadRequest:
            continue


@settings(max_examples=150, deadline=None)
@given(schemas(), st.data())
def test_a_schema_with_one_odd_value_is_served_or_refused_never_worse(schema, data):
    """Take a good schema and put any JSON anywhere into it."""
    holder, key = data.draw(st.sampled_from(list(_places(schema))))
    holder[key] = data.draw(_JSON)
    try:
        text = schema_to_gbnf(schema)
    except InvalidSchema:
        return
    assert all(productive(analysed(text, limits=GENERATED)))


def _places(value: object):
    if isinstance(value, dict):
        for key in value:
            yield value, key
            yield from _places(value[key])
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield value, index
            yield from _places(inner)


# ---- grammar text --------------------------------------------------------------------------------

_SOUP = st.text(
    st.sampled_from([*'abrot-_ \t\n\r:=|()[]{}<>"\\^.*+?!#,0123456789xuU', "é", "😀", "\0"]),
    max_size=80,
).map("root ::= {}".format)

_ITEM = st.sampled_from(['"a"', '"ab"', '""', "[a-c]", "[^a]", ".", "x", "y", "root"])
_PIECE = st.recursive(
    _ITEM,
    lambda inner: (
        st.builds(
            "{}{}".format, inner, st.sampled_from(["*", "+", "?", "{2}", "{0,3}", "{1,}", "{0}"])
        )
        | st.lists(inner, min_size=1, max_size=3).map(" ".join)
        | st.lists(inner, min_size=1, max_size=3).map(" | ".join).map("( {} )".format)
    ),
    max_leaves=6,
)
_RULES = st.builds('root ::= "a" {}\nx ::= {}\ny ::= {}'.format, _PIECE, _PIECE, _PIECE)


def _mutated(text: str, cut: int, length: int, insert: str) -> str:
    cut %= len(text)
    return text[:cut] + insert + text[cut + length :]


_MUTANTS = st.builds(
    _mutated,
    st.sampled_from([text for text, _, _ in ACCEPTED.values()]),
    st.integers(0, 10_000),
    st.integers(0, 6),
    st.sampled_from(["", "*", "?", '"', "(", ")", "|", "{2,3}", "\n", " x ", "\\", "]", "root"]),
)


@settings(max_examples=300, deadline=None)
@given(_SOUP | _RULES | _MUTANTS)
def test_any_text_is_a_grammar_or_refused(text):
    grammar = _grammar_or_none(text)
    assert grammar is None or sum(rule.weight for rule in grammar.rules) <= CLIENT.elements


@settings(max_examples=150, deadline=None)
@given(_RULES, _CHANCE)
def test_the_matcher_accepts_what_a_grammar_produces(text, chance):
    grammar = _grammar_or_none(text)
    if grammar is None or not all(productive(grammar)):
        return
    least = heights(grammar)
    assert all(matches(grammar, sample(grammar, least, chance)) for _ in range(5))


# ---- the native engine ---------------------------------------------------------------------------


def _ask(model: Path, jobs: list[tuple[str, list[str]]]) -> list[dict]:
    done = subprocess.run(
        [sys.executable, str(_PROGRAM), str(model)],
        input="\n".join(json.dumps({"grammar": text, "texts": texts}) for text, texts in jobs),
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert (done.returncode, len(answers)) == (0, len(jobs)), jobs[len(answers)]
    return answers


@settings(max_examples=4, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(_SOUP | _RULES | _MUTANTS, min_size=150, max_size=150), _CHANCE)
def test_the_engine_takes_every_text_that_passes_and_reads_it_alike(starter_model, texts, chance):
    jobs = []
    for text in texts:
        grammar = _grammar_or_none(text)
        if grammar is not None:
            produced = []
            if all(productive(grammar)):
                produced = [sample(grammar, heights(grammar), chance) for _ in range(3)]
            # NUL cannot come out of a token, and half a surrogate pair is no text.
            jobs.append((text, [p for p in produced if p.isprintable()] + ["a", "ab", "abc"]))
    for (text, produced), answer in zip(jobs, _ask(starter_model, jobs), strict=True):
        grammar = analysed(text)
        assert answer["taken"], text
        assert answer["accepted"] == [matches(grammar, answer_text) for answer_text in produced], (
            text
        )


@settings(max_examples=4, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(schemas(), min_size=60, max_size=60), _CHANCE)
def test_the_engine_takes_every_schema_grammar_and_allows_what_it_produces(
    starter_model, drawn, chance
):
    jobs = []
    for schema in drawn:
        try:
            text = schema_to_gbnf(schema)
        except InvalidSchema:
            continue
        grammar = analysed(text, limits=GENERATED)
        least = heights(grammar)
        jobs.append((text, [sample(grammar, least, chance) for _ in range(3)]))
    for (text, produced), answer in zip(jobs, _ask(starter_model, jobs), strict=True):
        assert (answer["taken"], answer["accepted"]) == (True, [True] * len(produced)), text
