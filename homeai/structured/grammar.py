"""What a GBNF text means: rules of alternatives of items, with repetitions written out.

The shape follows llama.cpp's own representation (`llama-grammar.h`), so that sizes counted here are
the sizes the native code will have.
"""

from __future__ import annotations

from dataclasses import dataclass, field

MAX_CODE_POINT = 0x10FFFF


@dataclass(frozen=True, slots=True)
class Chars:
    """One character out of a set.

    Attributes:
        ranges: Inclusive code point ranges, sorted, disjoint and not adjacent.
        weight: Number of native grammar elements.
    """

    ranges: tuple[tuple[int, int], ...]
    weight: int = 1

    def __contains__(self, code_point: int) -> bool:
        return any(low <= code_point <= high for low, high in self.ranges)


@dataclass(frozen=True, slots=True)
class Token:
    """One whole token of the vocabulary, or any token but that one.

    Attributes:
        name: Token id, or the text between `<` and `>` with both.
        negated: True for `!<…>`.
    """

    name: int | str
    negated: bool = False
    weight: int = 1


@dataclass(frozen=True, slots=True)
class Ref:
    """Use of another rule, by its index in `Grammar.rules`."""

    rule: int
    weight: int = 1


Item = Chars | Token | Ref
Alternative = tuple[Item, ...]


@dataclass(slots=True)
class Rule:
    """One rule.

    Attributes:
        name: Its name; a rule made for a group or a repetition has the name of the rule it stands in.
        position: Offset in the text: where the name is defined, or the group or repetition stands.
        made: True if it was made for a group or repetition.
        alternatives: What it may become; an empty one is the empty string.
        weight: Number of native grammar elements.
    """

    name: str
    position: int
    made: bool = False
    alternatives: list[Alternative] = field(default_factory=list)
    weight: int = 0


@dataclass(frozen=True, slots=True)
class Grammar:
    """A parsed GBNF text: every rule is defined, `root` is the index of the start rule."""

    rules: list[Rule]
    root: int


def normal_ranges(ranges: list[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """Sort inclusive ranges and join those that touch or overlap."""
    joined: list[tuple[int, int]] = []
    for low, high in sorted(ranges):
        if joined and low <= joined[-1][1] + 1:
            joined[-1] = (joined[-1][0], max(high, joined[-1][1]))
        else:
            joined.append((low, high))
    return tuple(joined)


def complement(ranges: tuple[tuple[int, int], ...]) -> tuple[tuple[int, int], ...]:
    """Return all code points outside normal `ranges`."""
    result: list[tuple[int, int]] = []
    start = 0
    for low, high in ranges:
        if low > start:
            result.append((start, low - 1))
        start = high + 1
    if start <= MAX_CODE_POINT:
        result.append((start, MAX_CODE_POINT))
    return tuple(result)
