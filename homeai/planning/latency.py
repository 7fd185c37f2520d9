"""How long an answer will take on a worker, from what it did so far. Pure.

time = queue ahead + prompt tokens / prefill rate + expected new tokens / decode rate

Rates come from a short calibration and are corrected by every answer. The spread (p90) comes from how far
earlier estimates were off, so it is honest about what the formula does not know.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

_WEIGHT = 0.3
_KEPT = 64
_LEAST_TOKENS = 8
"""Shorter phases say more about overhead than about the rate."""
_ASSUMED_SPREAD = 1.5
_ASSUMED_ANSWER_TOKENS = 256
_SPREAD_FROM = 5


@dataclass(frozen=True, slots=True)
class Estimate:
    """Milliseconds until the answer is complete: as likely more as less, and nearly certainly less."""

    p50_ms: float
    p90_ms: float

    def body(self) -> dict[str, int]:
        """As the interface shows it."""
        return {"p50": round(self.p50_ms), "p90": round(self.p90_ms)}


class LatencyModel:
    """Rates of one worker with one model.

    Attributes:
        prefill_tokens_s: Prompt tokens a second; None = not measured yet.
        decode_tokens_s: Answer tokens a second of one sequence; None = not measured yet.
    """

    def __init__(self) -> None:
        self.prefill_tokens_s: float | None = None
        self.decode_tokens_s: float | None = None
        self._shares: deque[float] = deque(maxlen=_KEPT)
        self._lengths: deque[int] = deque(maxlen=_KEPT)
        self._errors: deque[float] = deque(maxlen=_KEPT)

    def observe(
        self, *, prompt_tokens: int, prefill_s: float, new_tokens: int, decode_s: float
    ) -> None:
        """Correct the rates by what was measured of an answer.

        Args:
            prompt_tokens: Tokens that were really computed, without those found in the cache.
            prefill_s: Seconds they took.
            new_tokens: Tokens drawn after the first.
            decode_s: Seconds these took.
        """
        if prompt_tokens >= _LEAST_TOKENS and prefill_s > 0:
            self.prefill_tokens_s = _moved(self.prefill_tokens_s, prompt_tokens / prefill_s)
        if new_tokens >= _LEAST_TOKENS and decode_s > 0:
            self.decode_tokens_s = _moved(self.decode_tokens_s, new_tokens / decode_s)

    def observe_length(self, *, new_tokens: int, allowed: int | None) -> None:
        """Learn how long answers are: alone, and as a share of what the client allowed."""
        self._lengths.append(new_tokens)
        if allowed:
            self._shares.append(new_tokens / allowed)

    def grade(self, estimate: Estimate, actual_ms: float) -> None:
        """Learn how far an estimate was off."""
        if estimate.p50_ms > 0:
            self._errors.append(actual_ms / estimate.p50_ms)

    def estimate(
        self, *, prompt_tokens: int, allowed_tokens: int | None, drawn: int = 0, ahead_ms: float = 0
    ) -> Estimate | None:
        """Return how long an answer will take, or None if nothing was measured yet.

        Args:
            prompt_tokens: To be computed, tokens of an earlier attempt included.
            allowed_tokens: Most new tokens; None = not limited by the client.
            drawn: Tokens an earlier attempt drew already.
            ahead_ms: Milliseconds until it is its turn.
        """
        if self.prefill_tokens_s is None or self.decode_tokens_s is None:
            return None
        prefill_ms = 1000 * (prompt_tokens + drawn) / self.prefill_tokens_s
        likely, most = self._new_tokens(allowed_tokens)
        each_ms = 1000 / self.decode_tokens_s
        p50 = ahead_ms + prefill_ms + max(likely - drawn, 1) * each_ms
        high = ahead_ms + prefill_ms + max(most - drawn, 1) * each_ms
        return Estimate(p50, max(high, p50 * self._spread()))

    def _new_tokens(self, allowed: int | None) -> tuple[float, float]:
        """Expected number of new tokens, and one that is rarely exceeded."""
        if allowed is not None:
            if len(self._shares) < _SPREAD_FROM:
                return float(allowed), float(allowed)
            return allowed * _quantile(self._shares, 0.5), allowed * _quantile(self._shares, 0.9)
        if len(self._lengths) < _SPREAD_FROM:
            return _ASSUMED_ANSWER_TOKENS, 2 * _ASSUMED_ANSWER_TOKENS
        return _quantile(self._lengths, 0.5), _quantile(self._lengths, 0.9)

    def _spread(self) -> float:
        if len(self._errors) < _SPREAD_FROM:
            return _ASSUMED_SPREAD
        return max(1.05, 1.1 * _quantile(self._errors, 0.95))


def _moved(old: float | None, new: float) -> float:
    return new if old is None else old + _WEIGHT * (new - old)


def _quantile(values: deque[float] | deque[int], share: float) -> float:
    ordered = sorted(values)
    return float(ordered[min(int(share * len(ordered)), len(ordered) - 1)])
