"""Parameters that homeai does not act on: harmless ones, refused ones, and misspelt ones."""

from __future__ import annotations

import difflib

from homeai.domain.errors import UnsupportedParameter
from homeai.server.fields import Fields, shown

IGNORED = frozenset(
    {"user", "metadata", "parallel_tool_calls", "safety_identifier",
     "prompt_cache_key", "prompt_cache_retention", "prompt_cache_options"}
)  # fmt: skip
"""Bookkeeping of a cloud service: taken, and rightly without effect on an answer."""

_TOOLS = "tools are offered in chat completions"
_FUNCTIONS = "use tools and tool_choice"
_TEXT = "only text is read and written"

UNSUPPORTED: dict[str, tuple[str, tuple[object, ...]]] = {
    "tools": (_TOOLS, ([],)),
    "tool_choice": (_TOOLS, ("none",)),
    "functions": (_FUNCTIONS, ([],)),
    "function_call": (_FUNCTIONS, ("none",)),
    "modalities": (_TEXT, (["text"],)),
    "audio": (_TEXT, ()),
    "suffix": ("text is only completed at its end", ("",)),
    "prediction": ("predicted outputs are not offered", ()),
    "web_search_options": ("there is no web search", ()),
    "moderation": ("there is no moderation model", ()),
    "store": ("answers are not stored", (False,)),
    "service_tier": ("there is one tier", ("auto", "default")),
    "verbosity": ("ask for the length in the prompt", ("medium",)),
    "logits_processors": ("use logit_bias", ([],)),
    "best_of": ("every answer is returned; use n", (1,)),
    "dimensions": ("vectors come whole", ()),
}
"""Known parameters that would change the answer: why not, and the values that ask for nothing."""


def refuse_unknown(fields: Fields, known: frozenset[str], count: int = 1) -> None:
    """Refuse fields nobody read: ignoring them would promise what is not kept.

    Args:
        fields: What is left of the body.
        known: Names that are offered here.
        count: `n`; `best_of` may repeat it.

    Raises:
        UnsupportedParameter: Names the field and, if one is near, what was probably meant.
    """
    for name, value in fields.rest.items():
        if name in IGNORED or value is None or (name == "best_of" and _same(value, count)):
            continue
        if name in UNSUPPORTED:
            why, neutral = UNSUPPORTED[name]
            if any(_same(value, calm) for calm in neutral):
                continue
            raise UnsupportedParameter(
                f"{name} = {shown(value)} is not supported: {why}.", param=name
            )
        near = difflib.get_close_matches(name[:60], known, 1)
        hint = f" Did you mean {near[0]}?" if near else ""
        raise UnsupportedParameter(
            f"{name[:60]!r} is not a known parameter.{hint}", param=name[:60]
        )


def _same(value: object, other: object) -> bool:
    """Equal and of one kind: 0 is no way to write false."""
    return type(value) is type(other) and value == other
