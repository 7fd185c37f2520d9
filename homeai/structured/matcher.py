"""Follows a text through a grammar the way llama.cpp does: as a set of stacks of positions.

A stack says what is still to come: its top is the next item, below are the places where the rules that
were entered go on. Stacks are interned, so they compare and hash as integers.
"""

from __future__ import annotations

from homeai.structured.grammar import Chars, Grammar, Item, Ref

DONE = 0
"""The empty stack: the text may end here."""

Place = tuple[int, int, int]
"""Rule, alternative in the rule, item in the alternative."""


class WorkExhausted(Exception):
    """A matcher did as many steps as it was allowed to."""


class Matcher:
    """Stacks over one grammar. Rules that begin with themselves are not allowed (`analysis.check`).

    Args:
        grammar: The grammar.
        max_work: Steps after which every method raises `WorkExhausted`; None = no bound.
    """

    def __init__(self, grammar: Grammar, max_work: int | None = None) -> None:
        self._rules = grammar.rules
        self._ids: dict[tuple[int, Place], int] = {}
        self._stacks: list[tuple[int, Place]] = [(DONE, (0, 0, 0))]
        self._height: list[int] = [0]
        self._open: dict[int, tuple[int, ...]] = {}
        self._after: dict[int, tuple[int, ...]] = {}
        self._work = 0
        self._max_work = max_work

    def spend(self, steps: int) -> None:
        """Count `steps` of work, about 1 µs each.

        Raises:
            WorkExhausted: There were too many in all.
        """
        self._work += steps
        if self._max_work is not None and self._work > self._max_work:
            raise WorkExhausted

    def start(self, rule: int) -> tuple[int, ...]:
        """Return the stacks at the start of `rule`, with nothing below, each waiting for a terminal."""
        stacks: dict[int, None] = {}
        for alternative in range(len(self._rules[rule].alternatives)):
            stacks.update(dict.fromkeys(self.at((rule, alternative, 0))))
        return tuple(stacks)

    def at(self, place: Place) -> tuple[int, ...]:
        """Return the stacks of a text that stands at `place`, with nothing below."""
        return self._opened(self._push(DONE, place))

    def within(self, rest: Place, place: Place) -> tuple[int, ...]:
        """Return the stacks of a text that stands at `place`, after which `rest` goes on."""
        return self._opened(self._push(self._push(DONE, rest), place))

    def item(self, stack: int) -> Item:
        """Return the terminal that `stack` (not `DONE`) waits for."""
        rule, alternative, index = self._stacks[stack][1]
        return self._rules[rule].alternatives[alternative][index]

    def after(self, stack: int) -> tuple[int, ...]:
        """Return the stacks that follow once the terminal of `stack` was matched."""
        known = self._after.get(stack)
        if known is None:
            below, (rule, alternative, index) = self._stacks[stack]
            known = self._opened(self._push(below, (rule, alternative, index + 1)))
            self._after[stack] = known
        return known

    def height(self, stack: int) -> int:
        """Return how many places `stack` holds."""
        return self._height[stack]

    def _push(self, below: int, place: Place) -> int:
        rule, alternative, index = place
        if index >= len(self._rules[rule].alternatives[alternative]):
            return below
        key = (below, place)
        known = self._ids.get(key)
        if known is None:
            known = len(self._stacks)
            self._ids[key] = known
            self._stacks.append(key)
            self._height.append(self._height[below] + 1)
        return known

    def _opened(self, stack: int) -> tuple[int, ...]:
        """Enter rules until every stack waits for a terminal or is `DONE`."""
        known = self._open.get(stack)
        if known is not None:
            return known
        result: dict[int, None] = {}
        seen: set[int] = set()
        todo = [stack]
        while todo:
            current = todo.pop()
            if current in seen:
                continue
            seen.add(current)
            self.spend(1)
            if current == DONE or not isinstance(item := self.item(current), Ref):
                result[current] = None
                continue
            below, (rule, alternative, index) = self._stacks[current]
            rest = self._push(below, (rule, alternative, index + 1))
            inner = range(len(self._rules[item.rule].alternatives))
            todo.extend(self._push(rest, (item.rule, choice, 0)) for choice in inner)
        self._open[stack] = tuple(result)
        return self._open[stack]


def matches(grammar: Grammar, text: str) -> bool:
    """Return whether `grammar` can produce exactly `text`; token elements match nothing."""
    matcher = Matcher(grammar)
    stacks = set(matcher.start(grammar.root))
    for char in text:
        stacks = {
            following
            for stack in stacks
            if stack != DONE
            and isinstance(item := matcher.item(stack), Chars)
            and ord(char) in item
            for following in matcher.after(stack)
        }
    return DONE in stacks
