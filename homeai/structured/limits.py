"""How large and how ambiguous a grammar may be before it is refused."""

from __future__ import annotations

from dataclasses import dataclass

NATIVE_MAX_REPETITION = 2000
"""`MAX_REPETITION_THRESHOLD` of llama.cpp. Above it the native parser refuses a lower bound, and reads
an upper bound as "no bound"."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of a grammar. The defaults are for text that a client sent.

    Attributes:
        text_bytes: Length of the text in UTF-8.
        rules: Rules that the text defines.
        elements: Native grammar elements after repetitions are written out.
        nesting: Depth of parentheses; the native parser recurses with each.
        start_depth: Longest chain of rules that begin with one another; native code recurses along it.
        start_work: Steps of the native search for left recursion, which visits shared rules again.
        openings: Places at which one step of the native matcher can go on at once.
        probe_work: Steps spent here on looking for explosive ambiguity (about 1 µs each).
    """

    text_bytes: int = 64 * 1024
    rules: int = 2000
    elements: int = 20_000
    nesting: int = 64
    start_depth: int = 500
    start_work: int = 2_000_000
    openings: int = 2000
    probe_work: int = 400_000


CLIENT = Limits()
"""For a grammar in a request."""

GENERATED = Limits(text_bytes=512 * 1024, rules=20_000, elements=60_000, probe_work=800_000)
"""For a grammar made from a JSON schema, whose parts are known to be harmless."""
