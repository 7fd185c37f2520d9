"""Keeps what users write apart from control tokens.

A template mixes its own control texts (`<|im_start|>`) with users' words in one string. Before
rendering, every place in a user's text where a control text stands, or could begin at its end, is broken
by a noncharacter that the text does not hold. After rendering, control texts that are still whole came
from the template and become their tokens; the noncharacter is taken out of the rest, which is tokenised
as plain text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

_NONCHARACTERS = "".join(map(chr, [*range(0xFDD0, 0xFDF0), 0xFFFE, 0xFFFF]))


class ControlTexts:
    """The control tokens of a vocabulary in their written form.

    Args:
        ids: Text → token id; none of the texts is empty.
    """

    def __init__(self, ids: Mapping[str, int]) -> None:
        self._ids = dict(ids)
        longest_first = sorted(self._ids, key=len, reverse=True)
        self._any = re.compile("|".join(map(re.escape, longest_first)) or r"(?!)")
        self._beginnings = {text[:size] for text in self._ids for size in range(1, len(text))}
        self._longest = max(map(len, self._ids), default=0)

    def guard(self, value: Any, mark: str) -> Any:  # noqa: ANN401 -- JSON of any shape
        """Return `value` (JSON) with every text in it broken at control texts by `mark`."""
        if isinstance(value, str):
            return self._guard_text(value, mark)
        if isinstance(value, list):
            return [self.guard(item, mark) for item in value]
        if isinstance(value, dict):
            return {
                self._guard_text(str(key), mark): self.guard(item, mark)
                for key, item in value.items()
            }
        return value

    def _guard_text(self, text: str, mark: str) -> str:
        # broken after the first character, until none is whole: texts may overlap
        while self._any.search(text):
            text = self._any.sub(lambda match: match[0][0] + mark + match[0][1:], text)
            if mark in self._ids or any(len(known) == 1 for known in self._ids):
                break
        for size in range(min(self._longest - 1, len(text)), 0, -1):
            if text[-size:] in self._beginnings:
                return text + mark
        return text

    def segments(self, rendered: str, mark: str) -> Iterable[int | str]:
        """Yield token ids of whole control texts and plain texts between them, in order."""
        at = 0
        for match in self._any.finditer(rendered):
            if plain := rendered[at : match.start()].replace(mark, ""):
                yield plain
            yield self._ids[match[0]]
            at = match.end()
        if plain := rendered[at:].replace(mark, ""):
            yield plain


def choose_mark(*values: object) -> str:
    """Return a noncharacter that occurs nowhere in `values` (JSON).

    Raises:
        ValueError: They hold all of them; no honest text does.
    """
    seen: set[str] = set()

    def look(value: object) -> None:
        if isinstance(value, str):
            seen.update(set(value) & _NONCHARACTER_SET)
        elif isinstance(value, list):
            for item in value:
                look(item)
        elif isinstance(value, dict):
            for key, item in value.items():
                look(key)
                look(item)

    look(list(values))
    for mark in _NONCHARACTERS:
        if mark not in seen:
            return mark
    raise ValueError("the text holds every noncharacter")


_NONCHARACTER_SET = frozenset(_NONCHARACTERS)


def tokenize_segments(
    segments: Iterable[int | str], tokenize: Callable[[bytes], list[int]]
) -> list[int]:
    """Return the ids of segments; plain texts go through `tokenize`, which must not read control texts."""
    ids: list[int] = []
    for segment in segments:
        if isinstance(segment, int):
            ids.append(segment)
        else:
            ids += tokenize(segment.encode())
    return ids
