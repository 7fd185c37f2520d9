"""Whether a model fits main memory, before it is loaded."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from homeai.models.facts import ModelFacts
from homeai.service.need import ram_problem, reserve_bytes

GIB = 2**30
FACTS = ModelFacts(
    architecture="llama",
    title=None,
    parameters=7_000_000_000,
    quantisation="Q4_K",
    context_tokens=8192,
    n_layers=32,
    n_kv_heads=8,
    key_width=128,
    value_width=128,
    n_embd=4096,
    vocab=32000,
    chat_template=True,
    embeds=False,
    size_bytes=4 * GIB,
)


def problem(**more):
    facts = {"tokens": 8192, "kv_type": "f16", "available": 16 * GIB, "reserve": 2 * GIB}
    return ram_problem(FACTS, **{**facts, **more})


def test_a_model_that_fits_has_no_problem():
    assert problem() is None


def test_the_reserve_is_kept_and_the_numbers_are_said():
    error = problem(available=7 * GIB)

    assert error.code == "ram_insufficient"
    assert "8192 tokens" in error.message
    assert "2.0 GiB are kept" in error.message


def test_a_quantised_cache_needs_about_half():
    full, half = FACTS.kv_bytes(8192), FACTS.kv_bytes(8192, bytes_per_element=34 / 32)

    assert full == GIB
    assert half == full * 34 // 64


def test_a_model_of_unknown_shape_is_judged_by_its_size():
    assert (
        ram_problem(
            replace(FACTS, n_layers=None), tokens=1, kv_type="f16", available=5 * GIB, reserve=0
        )
        is None
    )


@given(st.integers(0, 2**40), st.floats(0, 90), st.integers(0, 2**20))
def test_the_reserve_is_the_larger_of_share_and_minimum(total, percent, least):
    reserve = reserve_bytes(total, percent=percent, least_mib=least)

    assert reserve >= least * 2**20
    assert reserve >= int(total * percent / 100)
