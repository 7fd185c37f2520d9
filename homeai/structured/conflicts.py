"""Finds the places of a grammar at which the next character can be read in two ways.

There are two kinds: alternatives that begin alike, and rules that could go on where what follows them begins
alike. A grammar without such places is read in one way only, whatever the text.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, pairwise

from homeai.structured.analysis import nullable
from homeai.structured.grammar import Alternative, Chars, Grammar, Ref, normal_ranges
from homeai.structured.matcher import DONE, Matcher, Place

Ranges = tuple[tuple[int, int], ...]
Fork = tuple[int, list[int]]
"""Rule in which the place is, and the stacks there that can begin with the same character."""


class Conflicts:
    """The places of one grammar without left recursion.

    Args:
        grammar: The grammar.
        matcher: Makes the stacks.
    """

    def __init__(self, grammar: Grammar, matcher: Matcher) -> None:
        self._rules = grammar.rules
        self._root = grammar.root
        self._matcher = matcher
        self._empty = nullable(grammar)
        self._first: dict[int, Ranges] = {}
        self._tails: dict[int, tuple[list[Place], Ranges]] = {}

    def forks(self) -> list[Fork]:
        """Return all forks, those with most stacks first."""
        starts = chain([(self._root, self._matcher.start(self._root))], self._places())
        forks = []
        for rule, stacks in starts:
            self._matcher.spend(1 + len(stacks))
            if len(stacks) > 1 and (alike := self._alike(stacks)):
                forks.append((rule, alike))
        return sorted(forks, key=lambda fork: -len(fork[1]))

    def _places(self) -> Iterator[tuple[int, tuple[int, ...]]]:
        for index, rule in enumerate(self._rules):
            for choice, alternative in enumerate(rule.alternatives):
                for position, item in enumerate(alternative):
                    if not isinstance(item, Ref):
                        continue
                    # The first item of an alternative is reached only through one of the other places.
                    if position > 0:
                        yield index, self._matcher.at((index, choice, position))
                    if position + 1 < len(alternative):
                        yield from self._ends((index, choice, position + 1), item.rule)

    def _ends(self, rest: Place, rule: int) -> Iterator[tuple[int, tuple[int, ...]]]:
        """Yield the stacks at which `rule` may go on or end, where both ways begin alike."""
        following = self._first_of(self._rules[rest[0]].alternatives[rest[1]][rest[2] :])
        places, more = self._tail(rule)
        self._matcher.spend(len(following) + len(more))
        if not _overlap(following, more):
            return
        for place in places:
            yield place[0], self._matcher.within(rest, place)

    def _tail(self, rule: int) -> tuple[list[Place], Ranges]:
        """Return the places at which `rule` could end but also go on, and the characters it goes on with."""
        if rule not in self._tails:
            places: list[Place] = []
            ranges: list[tuple[int, int]] = []
            seen = {rule}
            todo = [rule]
            for current in todo:
                self._matcher.spend(1)
                for choice, alternative in enumerate(self._rules[current].alternatives):
                    for position in self._may_end(alternative):
                        item = alternative[position]
                        if position > 0:
                            places.append((current, choice, position))
                            first = self._first_of(alternative[position:])
                            self._matcher.spend(1 + len(first))
                            ranges.extend(first)
                        if isinstance(item, Ref) and item.rule not in seen:
                            seen.add(item.rule)
                            todo.append(item.rule)
            self._tails[rule] = (places, normal_ranges(ranges))
        return self._tails[rule]

    def _may_end(self, alternative: Alternative) -> Iterator[int]:
        """Yield the positions of the last items, of which all but the first may be empty."""
        for position in range(len(alternative) - 1, -1, -1):
            yield position
            item = alternative[position]
            if not (isinstance(item, Ref) and self._empty[item.rule]):
                return

    def _first_of(self, items: Alternative) -> Ranges:
        """Return the characters with which `items` may begin."""
        found: list[tuple[int, int]] = []
        for item in items:
            self._matcher.spend(1)
            if not isinstance(item, Ref):
                found.extend(item.ranges if isinstance(item, Chars) else ())
                break
            first = self._first_of_rule(item.rule)
            self._matcher.spend(len(first))
            found.extend(first)
            if not self._empty[item.rule]:
                break
        return normal_ranges(found)

    def _first_of_rule(self, rule: int) -> Ranges:
        if rule not in self._first:
            ranges = [
                bounds
                for stack in self._matcher.start(rule)
                for bounds in ranges_of(self._matcher, stack)
            ]
            self._matcher.spend(len(ranges))
            self._first[rule] = normal_ranges(ranges)
        return self._first[rule]

    def _alike(self, stacks: tuple[int, ...]) -> list[int]:
        """Return those stacks that can begin with the same character as another one."""
        ranges = sorted((low, high, s) for s in stacks for low, high in ranges_of(self._matcher, s))
        self._matcher.spend(len(ranges))
        found: dict[int, None] = {}
        furthest = (-1, -1)
        for low, high, stack in ranges:
            if low <= furthest[0]:
                found[furthest[1]] = found[stack] = None
            furthest = max(furthest, (high, stack))
        return list(found)


def ranges_of(matcher: Matcher, stack: int) -> Ranges:
    """Return the characters that `stack` waits for; none at the end or for a token element."""
    if stack == DONE:
        return ()
    item = matcher.item(stack)
    return item.ranges if isinstance(item, Chars) else ()


def _overlap(one: Ranges, other: Ranges) -> bool:
    ranges = sorted((*one, *other))
    return any(first[1] >= second[0] for first, second in pairwise(ranges))
