"""Parameters that chat and text completions share."""

from __future__ import annotations

from collections.abc import Callable

from homeai.domain.request import Sampling
from homeai.server.fields import Fields
from homeai.structured import raw_grammar, response_format

MAX_CHOICES = 8
MAX_STOPS, MAX_STOP_CHARS = 16, 1000
MAX_BIASES = 1024
_SEED_SPAN = 2**64

COMMON = frozenset(
    {"model", "max_tokens", "temperature", "top_p", "n", "stream", "stream_options", "stop", "presence_penalty",
     "frequency_penalty", "logit_bias", "logprobs", "seed", "top_k", "min_p", "typical_p",
     "repeat_penalty", "repeat_last_n", "grammar", "response_format"}
)  # fmt: skip


def read_sampling(fields: Fields, new_seed: Callable[[], int]) -> Sampling:
    """Return how tokens are drawn.

    Args:
        fields: The body; taken from.
        new_seed: Gives a seed when the client sent none.

    Raises:
        BadRequest: A value that is not allowed.
    """
    plain = Sampling()
    temperature = fields.number("temperature", plain.temperature, 0, 2)
    top_p = fields.number("top_p", plain.top_p, 0, 1)  # 0 leaves the best candidate only: greedy
    seed = fields.count("seed", None, -(2**63), _SEED_SPAN - 1)
    return Sampling(
        logit_bias=_logit_bias(fields),
        repeat_penalty=fields.number("repeat_penalty", plain.repeat_penalty, 0, 10, above=True),
        frequency_penalty=fields.number("frequency_penalty", 0.0, -2, 2),
        presence_penalty=fields.number("presence_penalty", 0.0, -2, 2),
        repeat_last_n=fields.count("repeat_last_n", plain.repeat_last_n, -1, 2**20) or 0,
        top_k=fields.count("top_k", plain.top_k, 0, 2**20) or 0,
        typical_p=fields.number("typical_p", plain.typical_p, 0, 1, above=True),
        top_p=top_p or 1.0,
        min_p=fields.number("min_p", plain.min_p, 0, 1),
        temperature=temperature if top_p else 0.0,
        seed=(new_seed() if seed is None else seed) % _SEED_SPAN,
    )


def _logit_bias(fields: Fields) -> dict[int, float]:
    given = fields.object("logit_bias")
    bias: dict[int, float] = {}
    if len(given or ()) > MAX_BIASES:
        raise fields.wrong("logit_bias", f"{len(given or ())} entries", f"at most {MAX_BIASES}")
    for key, value in (given or {}).items():
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if not (key.isascii() and key.isdecimal() and len(key) < 10):
            raise fields.wrong("logit_bias", key, "token ids as keys")
        if not is_number or not -100 <= value <= 100:
            raise fields.wrong("logit_bias", value, "a bias from -100 to 100")
        bias[int(key)] = float(value)
    return bias


def read_stop(fields: Fields) -> tuple[str, ...]:
    """Return the stop strings."""
    value = fields.take("stop")
    if value is None:
        return ()
    stops = [value] if isinstance(value, str) else value
    if not isinstance(stops, list) or not all(isinstance(stop, str) and stop for stop in stops):
        raise fields.wrong("stop", value, "a text or a list of texts, none of them empty")
    if len(stops) > MAX_STOPS:
        raise fields.wrong("stop", f"{len(stops)} texts", f"at most {MAX_STOPS}")
    longest = max(map(len, stops), default=0)
    if longest > MAX_STOP_CHARS:
        allowed = f"at most {MAX_STOP_CHARS} characters each"
        raise fields.wrong("stop", f"a text of {longest} characters", allowed)
    return tuple(stops)


def read_grammar(fields: Fields) -> str | None:
    """Return the grammar that the answer must follow, or None."""
    grammar = raw_grammar(fields.take("grammar"))
    form = response_format(fields.take("response_format"))
    if grammar is not None and form is not None:
        raise fields.wrong("grammar", "a response_format as well", "one of the two")
    return grammar or form
