"""Reads GBNF text exactly as llama.cpp's `llama_grammar_parser` does, and refuses what it refuses.

Beyond that it refuses what the native parser takes but turns into something else (an upper bound above
2000 becomes "no bound", a second definition replaces the first, `[]` matches the empty string), and what
it cannot survive (`{5,3}` loops for ever, deep nesting overflows its stack).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from homeai.structured.gbnf_reader import DIGITS, END, WORD, GbnfReader
from homeai.structured.grammar import MAX_CODE_POINT, Chars, Grammar, Item, Ref, Rule
from homeai.structured.limits import NATIVE_MAX_REPETITION, Limits


@dataclass(slots=True)
class _Sequence:
    """Items of a rule under construction; None separates alternatives.

    Attributes:
        last_start: Where the item begins that a repetition would repeat.
        last_rules: Rules that a repetition would multiply, as the native parser counts them.
    """

    items: list[Item | None] = field(default_factory=list)
    last_start: int = 0
    last_rules: int = 1

    def begin(self, rules: int = 1) -> None:
        self.last_start = len(self.items)
        self.last_rules = rules


def _weight(items: list[Item | None]) -> int:
    return sum(1 if item is None else item.weight for item in items)


class GbnfParser:
    """One parse of one text.

    Args:
        text: Well-formed Unicode without NUL.
        limits: Sizes at which to give up.
    """

    def __init__(self, text: str, limits: Limits) -> None:
        self._in = GbnfReader(text)
        self._limits = limits
        self._depth = 0
        self._weight = 0
        self._rules: list[Rule] = []
        self._symbols: dict[str, int] = {}
        self._defined = 0
        self._parts: dict[str, Callable[[_Sequence, Rule], None]] = {
            '"': self._literal,
            "[": self._char_class,
            "<": self._token,
            "!": self._token,
            "(": self._group,
            ".": self._any_char,
        }

    def parse(self) -> Grammar:
        """Return the grammar.

        Raises:
            InvalidSchema: With line and column.
        """
        self._in.space(newline_ok=True)
        while self._in.peek() != END:
            self._rule()
        root = self._symbols.get("root")
        for rule in self._rules:
            if not rule.alternatives:
                self._in.fail(f'rule "{rule.name[:40]}" is used but not defined', rule.position)
        if root is None:
            self._in.fail("no rule named root; it is where the answer starts", 0)
        return Grammar(self._rules, root)

    # ---- rules -----------------------------------------------------------------------------------

    def _symbol(self, name: str, position: int) -> int:
        if name not in self._symbols:
            self._symbols[name] = len(self._rules)
            self._rules.append(Rule(name, position))
        return self._symbols[name]

    def _made_rule(self, owner: Rule, position: int) -> int:
        # "_" cannot stand in a name, so this never meets a rule of the text.
        self._symbols[f"{owner.name}_{len(self._rules)}"] = len(self._rules)
        self._rules.append(Rule(owner.name, position, made=True))
        return len(self._rules) - 1

    def _finish(self, rule: Rule, items: list[Item | None]) -> None:
        rule.weight = _weight(items) + 1
        self._count(rule.weight - _weight(items))
        part: list[Item] = []
        for item in items:
            if item is None:
                rule.alternatives.append(tuple(part))
                part = []
            else:
                part.append(item)
        rule.alternatives.append(tuple(part))

    def _count(self, weight: int) -> None:
        self._weight += weight
        if self._weight > self._limits.elements:
            self._in.fail(
                f"the grammar has more than {self._limits.elements} elements "
                "when its repetitions are written out"
            )

    def _rule(self) -> None:
        start = self._in.at
        name = self._in.run_of(WORD, "the name of a rule (letters, digits, -)")
        rule = self._rules[self._symbol(name, start)]
        if rule.alternatives:
            self._in.fail(f'rule "{name[:40]}" is defined twice', start)
        rule.position = start
        self._defined += 1
        if self._defined > self._limits.rules:
            self._in.fail(f"more than {self._limits.rules} rules", start)
        self._in.space(newline_ok=False)
        self._in.take("::=")
        self._in.space(newline_ok=True)
        self._alternatives(rule)
        if self._in.peek() not in ("\r", "\n", END):
            self._in.expected("the end of the line or an item")
        self._in.space(newline_ok=True)

    def _alternatives(self, rule: Rule) -> None:
        sequence = _Sequence()
        self._items(sequence, rule)
        while self._in.peek() == "|":
            sequence.items.append(None)
            self._count(1)
            sequence.begin()
            self._in.at += 1
            self._in.space(newline_ok=True)
            self._items(sequence, rule)
        self._finish(rule, sequence.items)

    def _items(self, sequence: _Sequence, rule: Rule) -> None:
        while (char := self._in.peek()) != END:
            if char in self._parts:
                before = len(sequence.items)
                self._parts[char](sequence, rule)
                self._count(_weight(sequence.items[before:]))
            elif char in WORD:
                self._reference(sequence)
            elif char in "*+?{":
                self._repetition(sequence, rule)
            else:
                return
            self._in.space(newline_ok=self._depth > 0)

    # ---- items -----------------------------------------------------------------------------------

    def _reference(self, sequence: _Sequence) -> None:
        start = self._in.at
        name = self._in.run_of(WORD, "a name")
        sequence.begin()
        sequence.items.append(Ref(self._symbol(name, start)))
        self._count(1)

    def _literal(self, sequence: _Sequence, _rule: Rule) -> None:
        sequence.begin()
        sequence.items += self._in.literal()

    def _any_char(self, sequence: _Sequence, _rule: Rule) -> None:
        self._in.at += 1
        sequence.begin()
        sequence.items.append(Chars(((0, MAX_CODE_POINT),)))

    def _char_class(self, sequence: _Sequence, _rule: Rule) -> None:
        sequence.begin()
        sequence.items.append(self._in.char_class())

    def _token(self, sequence: _Sequence, _rule: Rule) -> None:
        sequence.begin()
        sequence.items.append(self._in.token())

    def _group(self, sequence: _Sequence, rule: Rule) -> None:
        start = self._in.at
        if self._depth >= self._limits.nesting:
            self._in.fail(f"parentheses deeper than {self._limits.nesting}")
        self._depth += 1
        self._in.at += 1
        self._in.space(newline_ok=True)
        symbols_before = len(self._symbols)
        made = self._made_rule(rule, start)
        self._alternatives(self._rules[made])
        self._in.take(")")
        self._depth -= 1
        sequence.begin(max(1, len(self._symbols) - symbols_before))
        sequence.items.append(Ref(made))

    # ---- repetitions -----------------------------------------------------------------------------

    def _repetition(self, sequence: _Sequence, rule: Rule) -> None:
        start = self._in.at
        char = self._in.peek()
        if char == "{":
            low, high = self._bounds()
        else:
            self._in.at += 1
            low, high = {"*": (0, None), "+": (1, None), "?": (0, 1)}[char]
        if sequence.last_start == len(sequence.items):
            self._in.fail(f"there is nothing before {char!r} to repeat", start)
        self._repeat(sequence, rule, low, high, start)

    def _bounds(self) -> tuple[int, int | None]:
        newline_ok = self._depth > 0
        start = self._in.at
        self._in.at += 1
        self._in.space(newline_ok=newline_ok)
        low = self._in.number("a number of repetitions", NATIVE_MAX_REPETITION)
        high: int | None = low
        self._in.space(newline_ok=newline_ok)
        if self._in.peek() == ",":
            high = None
            self._in.at += 1
            self._in.space(newline_ok=newline_ok)
            if self._in.peek() in DIGITS:
                high = self._in.number("a number of repetitions", NATIVE_MAX_REPETITION)
                self._in.space(newline_ok=newline_ok)
        self._in.take("}")
        if high is not None and high < low:
            self._in.fail(f"{{{low},{high}}} has its bounds in the wrong order", start)
        return low, high

    def _repeat(
        self, sequence: _Sequence, rule: Rule, low: int, high: int | None, position: int
    ) -> None:
        """Write a repetition out the way the native parser does.

        `S{m,n}` becomes S m times and a chain of n-m optional rules; `S{m,}` S m times and a loop.
        """
        body = sequence.items[sequence.last_start :]
        factor = high or low or 1
        if sequence.last_rules * factor > NATIVE_MAX_REPETITION:
            self._in.fail(
                f"repetitions within repetitions multiply to {sequence.last_rules * factor} rules; "
                f"at most {NATIVE_MAX_REPETITION} are allowed",
                position,
            )
        optional = 1 if high is None else high - low
        body_weight = _weight(body)
        # Before anything is built: a long string a thousand times over would be built in full.
        if self._weight + body_weight * (low + optional) > self._limits.elements:
            self._count(self._limits.elements)
        if low == 0:
            del sequence.items[sequence.last_start :]
        else:
            sequence.items.extend(body * (low - 1))
        self._count(body_weight * (low - 1))
        last = -1
        for index in range(optional):
            made = self._made_rule(rule, position)
            tail: list[Item | None] = []
            if high is None:
                tail = [Ref(made)]
            elif index > 0:
                tail = [Ref(last)]
            self._count(body_weight + len(tail) + 1)
            self._finish(self._rules[made], [*body, *tail, None])
            last = made
        if optional > 0:
            sequence.items.append(Ref(last))
            self._count(1)
        sequence.last_rules *= factor
