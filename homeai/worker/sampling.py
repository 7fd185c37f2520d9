"""Drawing the next token: a pure function of logits, history, seed and position.

The draw is Gumbel-max: argmax over the surviving candidates of `logit / T + g`, where the noise g is
hashed from (seed, position, token id). It has exactly the softmax distribution, needs no carried-over
random state, so another worker can continue an answer, and a small change of the logits rarely changes
the pick, since the noise of each token stays what it was.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from homeai.domain.request import Sampling

Logits = npt.NDArray[np.float32]
Ids = npt.NDArray[np.int64]

_MASK = 2**64 - 1
_NUCLEUS_GUESS = 1024
"""Candidates looked at first for top-p and typical-p; nearly always enough."""


def gumbel(seed: int, position: int, ids: Ids) -> npt.NDArray[np.float64]:
    """Standard Gumbel noise for each token id, from a splitmix64 hash.

    Args:
        seed: 0 ≤ seed < 2**64.
        position: Index of the token to be drawn, prompt included.
        ids: Candidate ids, shape [n].

    Returns:
        Noise, shape [n].
    """
    key = (seed * 0xD1B54A32D192ED03 + position * 0xBF58476D1CE4E5B9) & _MASK
    z = ids.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(key)
    z ^= z >> np.uint64(30)
    z *= np.uint64(0xBF58476D1CE4E5B9)
    z ^= z >> np.uint64(27)
    z *= np.uint64(0x94D049BB133111EB)
    z ^= z >> np.uint64(31)
    uniform = ((z >> np.uint64(11)).astype(np.float64) + 0.5) / 2**53
    noise: npt.NDArray[np.float64] = -np.log(-np.log(uniform))
    return noise


class Sampler:
    """Draws the tokens of one answer.

    Args:
        params: Validated parameters.
        n_vocab: Size of the vocabulary.
    """

    def __init__(self, params: Sampling, n_vocab: int) -> None:
        self.params = params
        self._bias_ids = np.fromiter(params.logit_bias, np.int64, len(params.logit_bias))
        self._bias = np.fromiter(params.logit_bias.values(), np.float32, len(params.logit_bias))
        if self._bias_ids.size and not (
            self._bias_ids.min() >= 0 and self._bias_ids.max() < n_vocab
        ):
            msg = f"logit_bias names a token outside 0 … {n_vocab - 1}"
            raise ValueError(msg)
        self._penalises = params.repeat_last_n != 0 and (
            params.repeat_penalty != 1.0
            or params.frequency_penalty != 0.0
            or params.presence_penalty != 0.0
        )

    @property
    def is_plain_greedy(self) -> bool:
        """Whether the pick is the argmax of the untouched logits."""
        return self.params.temperature <= 0 and not self._penalises and not self._bias_ids.size

    def adjust(self, logits: Logits, history: Sequence[int]) -> Logits:
        """Return the logits with bias and penalties applied; `logits` itself is left alone.

        Args:
            logits: Shape [n_vocab].
            history: Prompt and accepted ids; the last `repeat_last_n` count.
        """
        if not self._penalises and not self._bias_ids.size:
            return logits
        adjusted = logits.copy()
        if self._bias_ids.size:
            adjusted[self._bias_ids] += self._bias
        if self._penalises:
            self._penalise(adjusted, history)
        return adjusted

    def _penalise(self, logits: Logits, history: Sequence[int]) -> None:
        params = self.params
        window = history if params.repeat_last_n < 0 else history[-params.repeat_last_n :]
        counts = Counter(window)
        if not counts:
            return
        ids = np.fromiter(counts, np.int64, len(counts))
        often = np.fromiter(counts.values(), np.float32, len(counts))
        values = logits[ids]
        factor = np.float32(params.repeat_penalty)
        values = np.where(values > 0, values / factor, values * factor)
        values -= often * np.float32(params.frequency_penalty)
        values -= np.float32(params.presence_penalty)
        logits[ids] = values

    def pick(self, adjusted: Logits, position: int) -> int:
        """Return the token drawn at `position` from logits that went through `adjust`.

        Args:
            adjusted: Shape [n_vocab]; -inf marks what is forbidden.
            position: Index of the token to be drawn, prompt included.
        """
        params = self.params
        if params.temperature <= 0:
            return int(adjusted.argmax())
        ids, values = self._candidates(adjusted)
        scores = values / params.temperature + gumbel(params.seed, position, ids)
        return int(ids[scores.argmax()])

    def _candidates(self, logits: Logits) -> tuple[Ids, npt.NDArray[np.float64]]:
        params = self.params
        ids = top_k(logits, params.top_k)
        values = logits[ids].astype(np.float64)
        if params.typical_p < 1.0:
            ids, values = _keep(ids, values, _typical(values, params.typical_p))
        if params.top_p < 1.0:
            ids, values = _nucleus(ids, values, params.top_p)
        if params.min_p > 0.0:
            floor = values.max() + np.log(params.min_p)
            ids, values = _keep(ids, values, values >= floor)
        return ids, values


def top_k(logits: Logits, k: int) -> Ids:
    """Return the ids of the k largest finite logits in ascending id order; k ≤ 0 = all finite ones."""
    finite: Ids
    if k <= 0 or k >= logits.size:
        finite = np.flatnonzero(logits > -np.inf)
        return finite
    # Almost always the top k lie within a small distance of the best: one cheap comparison
    # replaces a partition of the whole vocabulary.
    best = logits.max()
    for distance in (8.0, 16.0):
        near = np.flatnonzero(logits > best - np.float32(distance))
        if near.size >= k:
            if near.size == k:
                return near
            return np.sort(near[_largest(logits[near], k)])
    chosen = np.sort(_largest(logits, k))
    finite = chosen[logits[chosen] > -np.inf]
    return finite


def _largest(values: Logits, k: int) -> Ids:
    chosen: Ids = np.argpartition(values, values.size - k)[values.size - k :]
    return chosen


def _keep(
    ids: Ids, values: npt.NDArray[np.float64], mask: npt.NDArray[np.bool_]
) -> tuple[Ids, npt.NDArray[np.float64]]:
    return ids[mask], values[mask]


def _nucleus(
    ids: Ids, values: npt.NDArray[np.float64], mass: float
) -> tuple[Ids, npt.NDArray[np.float64]]:
    """Keep the smallest set of most probable candidates whose probability reaches `mass`."""
    weights = np.exp(values - values.max())
    wanted = mass * weights.sum()
    count = weights.size
    guess = min(_NUCLEUS_GUESS, count)
    while True:
        order = (
            np.argpartition(weights, count - guess)[count - guess :]
            if guess < count
            else np.arange(count)
        )
        order = order[np.argsort(-weights[order], kind="stable")]
        reached = np.cumsum(weights[order])
        if reached[-1] >= wanted or guess == count:
            break
        guess = min(guess * 4, count)
    kept = np.sort(order[: int(np.searchsorted(reached, wanted)) + 1])
    return ids[kept], values[kept]


def _typical(values: npt.NDArray[np.float64], mass: float) -> npt.NDArray[np.bool_]:
    """Mask of the candidates whose surprise is nearest to the expected one (Meister et al., 2022)."""
    weights = np.exp(values - values.max())
    probabilities = weights / weights.sum()
    surprise = -np.log(np.maximum(probabilities, 1e-300))
    entropy = float((probabilities * surprise).sum())
    order = np.argsort(np.abs(surprise - entropy), kind="stable")
    reached = np.cumsum(probabilities[order])
    mask = np.zeros(values.size, dtype=np.bool_)
    mask[order[: int(np.searchsorted(reached, mass)) + 1]] = True
    return mask


def logprobs(
    logits: Logits, token: int, alternatives: int
) -> tuple[float, list[tuple[int, float]]]:
    """Natural log probabilities under the untouched distribution.

    Args:
        logits: Shape [n_vocab].
        token: The token that was drawn.
        alternatives: How many of the most probable tokens to name, 0..20.

    Returns:
        ln p of the token, and (id, ln p) of the best, most probable first.
    """
    wide = logits.astype(np.float64)
    best = float(wide.max())
    norm = best + float(np.log(np.exp(wide - best).sum()))
    top: list[tuple[int, float]] = []
    if alternatives:
        ids = np.argpartition(logits, logits.size - alternatives)[logits.size - alternatives :]
        ids = ids[np.argsort(-wide[ids], kind="stable")]
        top = [(int(i), float(wide[i] - norm)) for i in ids]
    return float(wide[token] - norm), top
