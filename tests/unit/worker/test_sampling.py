"""Drawing tokens: a pure function with the right distribution."""

import numpy as np
import pytest

from homeai.domain.request import Sampling
from homeai.worker.sampling import Sampler, logprobs, top_k

PLAIN = {"top_k": 0, "top_p": 1.0, "min_p": 0.0, "typical_p": 1.0, "temperature": 1.0}
VOCAB = 50


def logits_of(*probabilities: float) -> np.ndarray:
    return np.log(np.asarray(probabilities, dtype=np.float64)).astype(np.float32)


def draw(params: Sampling, logits: np.ndarray, position: int = 7, history=()) -> int:
    sampler = Sampler(params, logits.size)
    return sampler.pick(sampler.adjust(logits, list(history)), position)


def test_same_seed_and_position_draw_the_same_token():
    logits = np.random.default_rng(1).normal(0, 2, VOCAB).astype(np.float32)

    picks = {draw(Sampling(seed=5, **PLAIN), logits, position=3) for _ in range(3)}

    assert len(picks) == 1


def test_frequencies_follow_the_softmax_distribution():
    probabilities = np.array([0.5, 0.3, 0.15, 0.05])
    logits = logits_of(*probabilities)
    trials = 20_000

    picks = [draw(Sampling(seed=11, **PLAIN), logits, position=p) for p in range(trials)]

    seen = np.bincount(picks, minlength=4) / trials
    assert np.abs(seen - probabilities).max() < 4 * np.sqrt(0.25 / trials)


def test_other_seeds_give_other_answers():
    logits = np.zeros(VOCAB, np.float32)

    assert len({draw(Sampling(seed=s, **PLAIN), logits) for s in range(30)}) > 10


def test_temperature_zero_takes_the_best():
    assert draw(Sampling(temperature=0), logits_of(0.2, 0.5, 0.3)) == 1


def test_a_small_change_of_the_logits_rarely_changes_the_draw():
    rng = np.random.default_rng(3)
    logits = rng.normal(0, 3, 2000).astype(np.float32)
    nudged = logits + rng.normal(0, 0.01, 2000).astype(np.float32)

    same = sum(
        draw(Sampling(seed=1, **PLAIN), logits, p) == draw(Sampling(seed=1, **PLAIN), nudged, p)
        for p in range(300)
    )

    assert same > 290


@pytest.mark.parametrize("k", [1, 3, 40, 1999, 2000, 5000])
def test_top_k_equals_a_full_sort(k):
    logits = np.random.default_rng(k).normal(0, 4, 2000).astype(np.float32)

    kept = top_k(logits, k)

    assert set(kept) == set(np.argsort(-logits)[:k])
    assert list(kept) == sorted(kept)


def test_top_k_never_keeps_what_a_grammar_forbids():
    logits = np.full(100, -np.inf, np.float32)
    logits[[3, 60]] = 1.0

    assert list(top_k(logits, 40)) == [3, 60]
    assert list(top_k(logits, 0)) == [3, 60]


def test_top_p_keeps_the_smallest_set_that_reaches_the_mass():
    logits = logits_of(0.5, 0.3, 0.15, 0.05)
    params = Sampling(seed=2, **{**PLAIN, "top_p": 0.75})

    assert {draw(params, logits, p) for p in range(400)} == {0, 1}


def test_top_p_over_a_flat_distribution_looks_beyond_the_first_guess():
    logits = np.zeros(8000, np.float32)
    params = Sampling(seed=2, **{**PLAIN, "top_p": 0.9})

    assert len({draw(params, logits, p) for p in range(200)}) > 150


def test_min_p_drops_what_is_far_less_likely_than_the_best():
    logits = logits_of(0.6, 0.3, 0.06, 0.04)
    params = Sampling(seed=2, **{**PLAIN, "min_p": 0.2})

    assert {draw(params, logits, p) for p in range(400)} == {0, 1}


def test_typical_prefers_tokens_of_expected_surprise():
    logits = logits_of(0.9, 0.05, 0.03, 0.02)
    params = Sampling(seed=2, **{**PLAIN, "typical_p": 0.5})

    assert {draw(params, logits, p) for p in range(200)} == {0}


def test_repeat_penalty_divides_positive_and_multiplies_negative_logits():
    logits = np.array([2.0, -2.0, 1.0], np.float32)
    sampler = Sampler(Sampling(repeat_penalty=2.0), 3)

    assert list(sampler.adjust(logits, [0, 1])) == [1.0, -4.0, 1.0]
    assert list(logits) == [2.0, -2.0, 1.0]


def test_frequency_counts_and_presence_does_not():
    logits = np.zeros(3, np.float32)
    params = Sampling(frequency_penalty=0.5, presence_penalty=0.25)

    assert list(Sampler(params, 3).adjust(logits, [1, 1, 2])) == [0.0, -1.25, -0.75]


def test_penalties_look_back_only_as_far_as_the_window():
    logits = np.zeros(3, np.float32)

    adjusted = Sampler(Sampling(presence_penalty=1.0, repeat_last_n=1), 3).adjust(logits, [0, 1])

    assert list(adjusted) == [0.0, -1.0, 0.0]


def test_logit_bias_can_force_and_ban():
    logits = logits_of(0.5, 0.5, 1e-6)

    assert draw(Sampling(temperature=0, logit_bias={2: 100.0}), logits) == 2
    assert draw(Sampling(temperature=0, logit_bias={0: -100.0}), logits) == 1


def test_logit_bias_outside_the_vocabulary_is_refused():
    with pytest.raises(ValueError, match="outside 0 … 9"):
        Sampler(Sampling(logit_bias={10: 1.0}), 10)


def test_logprobs_are_of_the_untouched_distribution_best_first():
    own, top = logprobs(logits_of(0.2, 0.5, 0.3), 0, 2)

    assert own == pytest.approx(np.log(0.2), abs=1e-6)
    assert [token for token, _ in top] == [1, 2]
    assert top[0][1] == pytest.approx(np.log(0.5), abs=1e-6)
