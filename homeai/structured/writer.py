"""Collects GBNF rules, and writes automata, lists of texts and repetitions so that each is read in one way."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable

from homeai.domain.errors import InvalidSchema
from homeai.structured.automaton import Automaton
from homeai.structured.expression import Ranges
from homeai.structured.notation import COMMON_RULES, literal

BLOCK = 256
"""Longest repetition written as `{m,n}`; longer ones are built of blocks, since llama.cpp writes each
round out as a rule of its own and takes more than 2000 for endless."""
_BLOCKS = 16
"""Blocks in a large block."""
MAX_COUNT = 16 * _BLOCKS * BLOCK
"""Most rounds between the least and the most of a repetition. Beyond it the grammar stops early."""


class Writer:
    """Collects rules.

    Args:
        max_rules: Most rules.
        max_chars: Most characters in all.
    """

    def __init__(self, max_rules: int, max_chars: int) -> None:
        self._rules: dict[str, str] = {}
        self._max_rules = max_rules
        self._max_chars = max_chars
        self._chars = 0
        self._known: dict[Hashable, str] = {}
        self.pointers: dict[str, str] = {}
        """Which part of the schema each rule was made for."""
        self.pointer = "#"
        """What rules are being made for now."""

    def once(self, key: Hashable, make: Callable[[], str]) -> str:
        """Return what `make` returned when it was first called for `key`."""
        if key not in self._known:
            self._known[key] = make()
        return self._known[key]

    def name(self, kind: str) -> str:
        """Reserve a new rule name that begins with `kind`."""
        name = f"{kind}-{len(self._rules)}"
        self.pointers[name] = self.pointer
        self.define(name, "")
        return name

    def define(self, name: str, body: str) -> str:
        """Set the body of `name` and return the name.

        Raises:
            InvalidSchema: The grammar becomes too large.
        """
        self._chars += len(body) + len(name) + 6
        self._rules[name] = body
        if len(self._rules) > self._max_rules or self._chars > self._max_chars:
            raise InvalidSchema(
                f"the schema is too large: its grammar has more than {self._max_rules} rules or "
                f"{self._max_chars} characters"
            )
        return name

    def text(self) -> str:
        """Return the whole grammar, with those common rules that are used."""
        used = dict(self._rules)
        todo = list(self._rules.values())
        while todo:
            # A word within a literal brings in a rule that is not needed, which does no harm.
            for name in re.findall("[a-z]+", todo.pop()):
                if name in COMMON_RULES and name not in used:
                    used[name] = COMMON_RULES[name]
                    todo.append(COMMON_RULES[name])
        return "".join(f"{name} ::= {body}\n" for name, body in used.items())

    def automaton(
        self,
        kind: str,
        automaton: Automaton,
        chars: Callable[[Ranges], list[str]],
        end: str = '""',
    ) -> str:
        """Write an automaton that accepts something, a rule for each state; return the name of the first.

        Args:
            kind: Beginning of the rule names.
            automaton: What to write.
            chars: How one character is written.
            end: What follows where the text may end.
        """
        names: dict[int, str] = {}
        for state in _successors_first(automaton):
            edges = automaton.edges[state]
            for target in edges:
                if target not in names:  # a way back to a state that is written later
                    names[target] = self.name(kind)
            ways = [end] if automaton.accepting[state] else []
            for target, ranges in edges.items():
                ways += [f"{way} {names[target]}" for way in chars(ranges)]
            body = " | ".join(ways)
            if state in names:
                self.define(names[state], body)
            else:
                # Automata of one schema have much in common, as the last digits of all integer ranges.
                names[state] = self._state(kind, body)
        return names[0]

    def _state(self, kind: str, body: str) -> str:
        return self.once(("state", body), lambda: self.define(self.name(kind), body))

    def choice(self, kind: str, texts: list[str]) -> str:
        """Return a GBNF item for one of `texts`, written as a tree so that it is read in one way."""
        if len(texts) == 1:
            return literal(texts[0])
        return self._tree(kind, sorted(set(texts)))

    def _tree(self, kind: str, texts: list[str]) -> str:
        root = self.name(kind)
        todo = [(root, texts, 0)]
        while todo:
            name, group, at = todo.pop()
            ways = ['""'] if len(group[0]) == at else []
            start = len(ways)
            while start < len(group):
                stop = start
                while stop < len(group) and group[stop][at] == group[start][at]:
                    stop += 1
                # Sorted, so the first and the last share what all share.
                shared = _shared(group[start], group[stop - 1])
                way = literal(group[start][at:shared])
                if stop - start > 1:
                    branch = self.name(kind)
                    todo.append((branch, group[start:stop], shared))
                    way = f"{way} {branch}"
                ways.append(way)
                start = stop
            self.define(name, " | ".join(ways))
        return root

    def repeat(self, item: str, low: int, high: int | None) -> str:
        """Return `item` (a rule name) `low` to `high` times; empty for none.

        Args:
            item: A rule name.
            low: Least number, at most `MAX_COUNT`.
            high: Most; None = no bound. Beyond low + `MAX_COUNT` it is lowered.
        """
        blocks, rest = divmod(low, BLOCK) if low > BLOCK else (0, low)
        parts = [f"{self._block(item)}{{{blocks}}}"] if blocks else []
        if high is None:
            parts.append(f"{item}*" if rest == 0 else f"{item}{{{rest},}}")
        elif low <= BLOCK and high <= BLOCK:
            parts.append(f"{item}{{{low},{high}}}" if high else "")
        else:
            parts.append(f"{item}{{{rest}}}" if rest else "")
            parts.append(self._up_to(item, min(high - low, MAX_COUNT)))
        return " ".join(part for part in parts if part)

    def _up_to(self, item: str, most: int) -> str:
        """Return what stands for up to `most` of `item`.

        Each step is "less than a block, and the end, or a whole block and what follows"; both are read
        side by side for a block's length, so there are never more than a few readings.
        """
        large, rest = divmod(most, BLOCK * _BLOCKS)
        name = self._up_to_blocks(item, rest)
        if large:
            key = ("large block", item)
            block = self.once(key, lambda: self._large_block(item))
            short = self.once(("short of a large block", item), lambda: self._large_short(item))
            for _ in range(large):
                name = self.define(self.name("upto"), f"{short} | {block} {name}")
        return name

    def _up_to_blocks(self, item: str, most: int) -> str:
        blocks, rest = divmod(most, BLOCK)
        name = f"{item}{{0,{rest}}}" if rest else ""
        for _ in range(blocks):
            short = self.once(
                ("short", item),
                lambda: self.define(self.name("short"), f"{item}{{0,{BLOCK - 1}}}"),
            )
            name = self.define(self.name("upto"), f"{short} | {self._block(item)} {name}")
        return name

    def _block(self, item: str) -> str:
        """Return the rule for exactly `BLOCK` of `item`."""
        return self.once(
            ("block", item), lambda: self.define(self.name("block"), f"{item}{{{BLOCK}}}")
        )

    def _large_block(self, item: str) -> str:
        return self.define(self.name("block"), f"{self._block(item)}{{{_BLOCKS}}}")

    def _large_short(self, item: str) -> str:
        return self.define(self.name("short"), self._up_to_blocks(item, BLOCK * _BLOCKS - 1))


def _successors_first(automaton: Automaton) -> list[int]:
    """Return the states so that, ways back apart, each comes after those it leads to."""
    order: list[int] = []
    seen = {0}
    path = [(0, iter(automaton.edges[0]))]
    while path:
        state, rest = path[-1]
        target = next(rest, None)
        if target is None:
            order.append(state)
            path.pop()
        elif target not in seen:
            seen.add(target)
            path.append((target, iter(automaton.edges[target])))
    return order


def _shared(first: str, last: str) -> int:
    length = 0
    for one, other in zip(first, last, strict=False):
        if one != other:
            break
        length += 1
    return length
