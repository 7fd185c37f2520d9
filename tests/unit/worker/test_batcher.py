"""Which prompt chunk joins the next decode call."""

from hypothesis import given
from hypothesis import strategies as st

from homeai.worker.batcher import CHUNK_TOKENS, Pending, chunk_limit, prefill_share


def test_the_shortest_of_several_prompts_goes_first():
    assert prefill_share([Pending(1, 300), Pending(2, 40)], 0, 512)[0] == (2, 40)


def test_prompts_that_fit_whole_share_a_call():
    assert prefill_share([Pending(1, 300), Pending(2, 40)], 0, 512) == [(2, 40), (1, 300)]
    assert prefill_share([Pending(1, 500), Pending(2, 40)], 0, 512) == [(2, 40)]


def test_equal_prompts_go_in_order_of_arrival():
    assert prefill_share([Pending(1, 100), Pending(2, 100)], 0, 512)[0][0] == 1


def test_a_passed_over_long_prompt_overtakes_in_the_end():
    waited = next(
        n
        for n in range(100)
        if prefill_share([Pending(1, 900, n), Pending(2, 50)], 1, 512, 256)[0][0] == 1
    )

    assert waited < 20


def test_a_call_takes_as_much_as_the_machine_computes_in_time():
    assert chunk_limit(200, beside_streams=False) == 400
    assert chunk_limit(200, beside_streams=True) == 200
    assert chunk_limit(1, beside_streams=True) == 32
    assert chunk_limit(10**6, beside_streams=False) == CHUNK_TOKENS
    assert prefill_share([Pending(1, 5000)], 1, 512, 200) == [(1, 200)]


pending = st.lists(st.builds(Pending, st.integers(0, 9), st.integers(1, 9000), st.integers(0, 50)))


@given(pending, st.integers(0, 64), st.sampled_from([128, 256, 512]))
def test_a_batch_never_grows_beyond_its_rows(items, decoding, batch):
    share = prefill_share(items, decoding, batch)

    assert decoding + sum(size for _, size in share) <= max(batch, decoding)
    assert all(size >= 1 for _, size in share)
    assert bool(share) == (bool(items) and batch > decoding)
