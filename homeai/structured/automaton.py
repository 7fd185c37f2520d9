"""Finite automata over characters: built from expressions, made deterministic, combined, trimmed.

A deterministic automaton is the one form of a regular language that the native matcher follows without
ambiguity, and the one in which languages can be intersected and texts counted.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field
from typing import TypeVar

from homeai.domain.errors import InvalidSchema
from homeai.structured.expression import (
    ANY,
    CharSet,
    Choice,
    Expression,
    Ranges,
    Repeat,
    Sequence,
    common,
    minus,
)
from homeai.structured.grammar import normal_ranges

_Key = TypeVar("_Key", bound=Hashable)

_MAX_NFA_STATES = 20_000
_MAX_DFA_STATES = 2000
_MAX_EDGES = 20_000
_MAX_WORK = 500_000
"""NFA states visited while the automaton is made deterministic, about 1 µs each."""


@dataclass(frozen=True, slots=True)
class Automaton:
    """Deterministic; state 0 is the start; every state can reach acceptance (none left = no text).

    Attributes:
        edges: For each state, target → characters.
        accepting: For each state, whether the text may end there.
    """

    edges: list[dict[int, Ranges]]
    accepting: list[bool]

    @property
    def is_void(self) -> bool:
        """Whether no text at all is accepted."""
        return not self.accepting

    def accepts(self, value: str) -> bool:
        """Return whether `value` is in the language."""
        if self.is_void:
            return False
        state = 0
        for char in map(ord, value):
            for target, ranges in self.edges[state].items():
                if any(low <= char <= high for low, high in ranges):
                    state = target
                    break
            else:
                return False
        return self.accepting[state]


def too_large() -> InvalidSchema:
    """Return the error for a language that needs too many states."""
    needed = f"pattern, format, range and length need more than {_MAX_DFA_STATES} states together"
    return InvalidSchema(f"{needed}; make them simpler or shorter")


@dataclass(slots=True)
class _Nfa:
    """Thompson's construction."""

    empty: list[list[int]] = field(default_factory=list)
    edges: list[list[tuple[Ranges, int]]] = field(default_factory=list)
    work: int = 0

    def state(self) -> int:
        if len(self.empty) >= _MAX_NFA_STATES:
            raise too_large()
        self.empty.append([])
        self.edges.append([])
        return len(self.empty) - 1

    def add(self, expression: Expression, start: int) -> int:
        """Add `expression` behind `start`; return the state behind it."""
        if isinstance(expression, CharSet):
            end = self.state()
            self.edges[start].append((expression.ranges, end))
            return end
        if isinstance(expression, Sequence):
            for part in expression.parts:
                start = self.add(part, start)
            return start
        if isinstance(expression, Choice):
            end = self.state()
            for option in expression.options:
                self.empty[self.add(option, self._after(start))].append(end)
            return end
        return self._repeat(expression, start)

    def _after(self, start: int) -> int:
        state = self.state()
        self.empty[start].append(state)
        return state

    def _repeat(self, repeat: Repeat, start: int) -> int:
        for _ in range(repeat.low):
            start = self.add(repeat.part, start)
        if repeat.high is None:
            loop = self._after(start)
            self.empty[self.add(repeat.part, loop)].append(loop)
            return self._after(loop)
        end = self.state()
        self.empty[start].append(end)
        for _ in range(repeat.high - repeat.low):
            start = self.add(repeat.part, start)
            self.empty[start].append(end)
        return end

    def closure(self, states: Iterable[int]) -> frozenset[int]:
        found = set(states)
        todo = list(found)
        while todo:
            for following in self.empty[todo.pop()]:
                if following not in found:
                    found.add(following)
                    todo.append(following)
        self.work += len(found)
        if self.work > _MAX_WORK:
            raise too_large()
        return frozenset(found)


def build(options: Iterable[tuple[Expression, bool]]) -> Automaton:
    """Make one automaton of several expressions.

    Args:
        options: Expressions, each with whether any text may follow it.

    Raises:
        InvalidSchema: It would be too large.
    """
    nfa = _Nfa()
    start = nfa.state()
    final = nfa.state()
    universal = nfa.state()
    for expression, open_ended in options:
        end = nfa.add(expression, start)
        nfa.empty[end].append(universal if open_ended else final)
    anything = frozenset({universal})

    def settle(states: Iterable[int]) -> frozenset[int]:
        # Where everything is accepted anyway, other threads of the match no longer matter.
        closed = nfa.closure(states)
        return anything if universal in closed else closed

    def follow(states: frozenset[int]) -> Iterable[tuple[Ranges, frozenset[int]]]:
        if states == anything:
            return [(ANY, anything)]
        moves = [edge for state in states for edge in nfa.edges[state]]
        return [(ranges, settle(targets)) for ranges, targets in _partition(moves)]

    return _explore(settle([start]), follow, lambda s: final in s or universal in s)


def _partition(moves: list[tuple[Ranges, int]]) -> Iterable[tuple[Ranges, set[int]]]:
    """Split overlapping character sets into disjoint ones, each with all its targets."""
    events: list[tuple[int, int, int]] = []
    for ranges, target in moves:
        for low, high in ranges:
            events.append((low, 1, target))
            events.append((high + 1, -1, target))
    events.sort()
    active: dict[int, int] = {}
    previous = 0
    for position, change, target in events:
        if active and position > previous:
            yield ((previous, position - 1),), set(active)
        previous = position
        active[target] = active.get(target, 0) + change
        if active[target] == 0:
            del active[target]


def intersect(first: Automaton, second: Automaton) -> Automaton:
    """Return the automaton of the texts that both accept.

    Raises:
        InvalidSchema: It would be too large.
    """
    if first.is_void or second.is_void:
        return Automaton([], [])

    def follow(pair: tuple[int, int]) -> Iterable[tuple[Ranges, tuple[int, int]]]:
        for one, ranges in first.edges[pair[0]].items():
            for two, others in second.edges[pair[1]].items():
                if both := common(ranges, others):
                    yield both, (one, two)

    return _explore((0, 0), follow, lambda p: first.accepting[p[0]] and second.accepting[p[1]])


def counted(automaton: Automaton, low: int, high: int | None) -> Automaton:
    """Return the automaton of those accepted texts that have `low` to `high` characters.

    Raises:
        InvalidSchema: It would be too large.
    """
    if automaton.is_void or (low == 0 and high is None):
        return automaton
    top = low if high is None else high

    def follow(pair: tuple[int, int]) -> Iterable[tuple[Ranges, tuple[int, int]]]:
        state, count = pair
        if high is not None and count == high:
            return
        for target, ranges in automaton.edges[state].items():
            yield ranges, (target, min(count + 1, top))

    return _explore((0, 0), follow, lambda p: automaton.accepting[p[0]] and p[1] >= low)


def excluding(values: Iterable[str]) -> Automaton:
    """Return the automaton of every text that is not one of `values`.

    Raises:
        InvalidSchema: It would be too large.
    """
    known = set(values)
    prefixes: dict[str, dict[int, str]] = {"": {}}
    for value in known:
        if len(value) > _MAX_DFA_STATES:
            raise too_large()
        for length, char in enumerate(value):
            prefixes.setdefault(value[:length], {})[ord(char)] = value[: length + 1]
            prefixes.setdefault(value[: length + 1], {})
        if len(prefixes) > _MAX_DFA_STATES:
            raise too_large()

    start: str | None = ""  # None = no longer the beginning of any value

    def follow(prefix: str | None) -> Iterable[tuple[Ranges, str | None]]:
        children = {} if prefix is None else prefixes[prefix]
        for char, longer in children.items():
            yield ((char, char),), longer
        yield minus(ANY, normal_ranges([(char, char) for char in children])), None

    return _explore(start, follow, lambda prefix: prefix not in known)


def _explore(
    start: _Key,
    follow: Callable[[_Key], Iterable[tuple[Ranges, _Key]]],
    accepts: Callable[[_Key], bool],
) -> Automaton:
    """Number the states reachable from `start`, then drop those from which no text can end."""
    numbers = {start: 0}
    todo = [start]
    edges: list[dict[int, Ranges]] = []
    accepting: list[bool] = []
    count = 0
    for key in todo:
        moves: dict[int, list[tuple[int, int]]] = {}
        for ranges, target in follow(key):
            if target not in numbers:
                if len(numbers) >= _MAX_DFA_STATES:
                    raise too_large()
                numbers[target] = len(numbers)
                todo.append(target)
            moves.setdefault(numbers[target], []).extend(ranges)
            count += len(ranges)
        if count > _MAX_EDGES:
            raise too_large()
        edges.append({target: normal_ranges(ranges) for target, ranges in moves.items()})
        accepting.append(accepts(key))
    return _trimmed(edges, accepting)


def _trimmed(edges: list[dict[int, Ranges]], accepting: list[bool]) -> Automaton:
    sources: list[list[int]] = [[] for _ in edges]
    for state, moves in enumerate(edges):
        for target in moves:
            sources[target].append(state)
    alive = {state for state, accepts in enumerate(accepting) if accepts}
    todo = list(alive)
    while todo:
        for source in sources[todo.pop()]:
            if source not in alive:
                alive.add(source)
                todo.append(source)
    if 0 not in alive:
        return Automaton([], [])
    kept = {state: number for number, state in enumerate(sorted(alive))}
    left = [{kept[t]: r for t, r in edges[state].items() if t in alive} for state in kept]
    return Automaton(left, [accepting[state] for state in kept])
