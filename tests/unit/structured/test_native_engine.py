"""The native parser and matcher against our own: run in another process, so that a crash is a failure."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from homeai.structured.json_schema import any_json, schema_to_gbnf
from tests.fakes.gbnf_texts import ACCEPTED, REFUSED, TOKENS
from tests.fakes.json_schemas import CASES, nested

_PROGRAM = Path(__file__).parents[2] / "fakes" / "native_grammar.py"


@pytest.fixture(scope="module")
def ask(starter_model):
    def ask(jobs: list[tuple[str, list[str]]]) -> list[dict]:
        lines = [json.dumps({"grammar": grammar, "texts": texts}) for grammar, texts in jobs]
        done = subprocess.run(
            [sys.executable, str(_PROGRAM), str(starter_model)],
            input="\n".join(lines),
            capture_output=True,
            text=True,
            timeout=100,
            check=False,
        )
        answers = [json.loads(line) for line in done.stdout.splitlines()]
        assert (done.returncode, len(answers)) == (0, len(jobs)), done.stderr[-2000:]
        return answers

    return ask


def _differences(answers: list[dict], names: list[str], expected: list[list[bool]]) -> list[str]:
    return [
        name
        for name, answer, wanted in zip(names, answers, expected, strict=True)
        if not answer["taken"] or answer["accepted"] != wanted
    ]


def test_the_engine_takes_every_grammar_that_passes_the_gate_and_reads_it_alike(ask):
    jobs = [(text, good + bad) for text, good, bad in ACCEPTED.values()]
    expected = [[True] * len(good) + [False] * len(bad) for _, good, bad in ACCEPTED.values()]
    assert _differences(ask(jobs), list(ACCEPTED), expected) == []


def test_the_engine_takes_token_elements(ask):
    assert [answer["taken"] for answer in ask([(text, []) for text in TOKENS.values()])] == [
        True
    ] * len(TOKENS)


def test_the_engine_takes_every_schema_and_allows_exactly_what_fits(ask):
    jobs = [(schema_to_gbnf(case.schema), case.good() + case.bad()) for case in CASES]
    expected = [[True] * len(case.good()) + [False] * len(case.bad()) for case in CASES]
    assert _differences(ask(jobs), [case.name for case in CASES], expected) == []


def test_the_engine_takes_the_largest_grammars_we_make(ask):
    wide = {f"field{n}": {"type": "string", "maxLength": 20} for n in range(250)}
    schemas = [
        {"type": "object", "properties": wide},
        {"enum": [f"value number {n}" for n in range(2000)]},
        {"type": "string", "minLength": 60_000, "maxLength": 100_000},
        {"type": "array", "items": {"type": "null"}, "maxItems": 50_000},
        nested(30, {"type": "null"}),
    ]
    texts = [["{}", '{"field9":"x"}'], ['"value number 77"'], [], ["[null]"], ["[" * 30 + "]" * 30]]
    jobs = [(schema_to_gbnf(s), t) for s, t in zip(schemas, texts, strict=True)]
    assert (
        _differences(
            ask(jobs), ["wide", "enum", "text", "array", "deep"], [[True] * len(t) for t in texts]
        )
        == []
    )


def test_the_engine_takes_any_json(ask):
    answers = ask([(any_json("value"), ["[1]"]), (any_json("object"), ["{}", "1"])])
    assert [answer["accepted"] for answer in answers] == [[True], [True, False]]


def test_what_the_native_parser_refuses_never_passes_the_gate(ask):
    """The other way round: of the texts we refuse, none is here only because we mistake the notation."""
    harmless = [
        "undefined rule",
        "no arrow",
        "open string",
        "unknown escape",
        "bounds without a number",
    ]
    answers = ask([(REFUSED[name][0], []) for name in harmless])
    assert [answer["taken"] for answer in answers] == [False] * len(harmless)
