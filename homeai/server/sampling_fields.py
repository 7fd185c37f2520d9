"""Parameters that chat and text completions share."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from typing import Any

from homeai.domain.errors import UnsupportedParameter
from homeai.domain.request import Sampling
from homeai.server.fields import Fields
from homeai.structured import raw_grammar, response_format

MAX_CHOICES = 8
MAX_STOPS = 16
_SEED_SPAN = 2**64

IGNORED = frozenset(
    {"user", "metadata", "store", "service_tier", "parallel_tool_calls", "safety_identifier",
     "prompt_cache_key", "prompt_cache_retention", "verbosity", "reasoning_effort"}
)  # fmt: skip
"""Taken and without effect: they change nothing about what is answered here."""

UNSUPPORTED = {
    "tools": "tool calls come with a later version",
    "functions": "tool calls come with a later version",
    "function_call": "tool calls come with a later version",
    "audio": "only text is answered",
    "suffix": "text is only completed at its end",
    "prediction": "predicted outputs are not offered",
    "web_search_options": "there is no web search",
    "logits_processors": "use logit_bias",
    "best_of": "use n",
}

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
    seed = fields.count("seed", None, -(2**63), _SEED_SPAN - 1)
    return Sampling(
        logit_bias=_logit_bias(fields),
        repeat_penalty=fields.number("repeat_penalty", plain.repeat_penalty, 0, 10, above=True),
        frequency_penalty=fields.number("frequency_penalty", 0.0, -2, 2),
        presence_penalty=fields.number("presence_penalty", 0.0, -2, 2),
        repeat_last_n=fields.count("repeat_last_n", plain.repeat_last_n, -1, 2**20) or 0,
        top_k=fields.count("top_k", plain.top_k, 0, 2**20) or 0,
        typical_p=fields.number("typical_p", plain.typical_p, 0, 1, above=True),
        top_p=fields.number("top_p", plain.top_p, 0, 1, above=True),
        min_p=fields.number("min_p", plain.min_p, 0, 1),
        temperature=fields.number("temperature", plain.temperature, 0, 2),
        seed=(new_seed() if seed is None else seed) % _SEED_SPAN,
    )


def _logit_bias(fields: Fields) -> dict[int, float]:
    given = fields.object("logit_bias")
    bias: dict[int, float] = {}
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
    return tuple(stops)


def read_grammar(fields: Fields) -> str | None:
    """Return the grammar that the answer must follow, or None."""
    grammar = raw_grammar(fields.take("grammar"))
    form = response_format(fields.take("response_format"))
    if grammar is not None and form is not None:
        raise fields.wrong("grammar", "a response_format as well", "one of the two")
    return grammar or form


def refuse_unknown(fields: Fields, known: frozenset[str]) -> None:
    """Refuse fields nobody read: ignoring them would promise what is not kept.

    Raises:
        UnsupportedParameter: Names the field and, if one is near, what was probably meant.
    """
    for name, value in fields.rest.items():
        if name in IGNORED or value is None or _is_harmless(name, value):
            continue
        if name in UNSUPPORTED:
            raise UnsupportedParameter(f"{name} is not supported: {UNSUPPORTED[name]}.", param=name)
        near = difflib.get_close_matches(name, known, 1)
        hint = f" Did you mean {near[0]}?" if near else ""
        raise UnsupportedParameter(
            f"{name[:60]!r} is not a known parameter.{hint}", param=name[:60]
        )


def _is_harmless(name: str, value: Any) -> bool:  # noqa: ANN401 -- JSON
    """Values of unsupported parameters that ask for nothing."""
    return (
        (name in ("tools", "functions") and value == [])
        or (name == "tool_choice" and value in ("none", "auto"))
        or (name == "modalities" and value == ["text"])
        or (name == "best_of" and value == 1)
        or (name == "suffix" and value == "")
    )
