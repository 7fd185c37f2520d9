"""Writes GBNF: literals, character classes, and automata as rules that never read a text in two ways."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Hashable

from homeai.domain.errors import InvalidSchema
from homeai.structured.automaton import Automaton
from homeai.structured.expression import ANY, Ranges, common, minus
from homeai.structured.grammar import normal_ranges

BLOCK = 256
"""Longest repetition written as `{m,n}`; longer ones are built of blocks, since llama.cpp writes each
round out as a rule of its own and takes more than 2000 for endless."""
_BLOCKS = 16
"""Blocks in a large block."""
MAX_COUNT = 16 * _BLOCKS * BLOCK
"""Most rounds between the least and the most of a repetition. Beyond it the grammar stops early."""

_QUOTE, _BACKSLASH = ord('"'), ord("\\")
_SHORT_ESCAPES = {
    0x08: "b",
    0x0C: "f",
    0x0A: "n",
    0x0D: "r",
    0x09: "t",
    _QUOTE: '"',
    _BACKSLASH: "\\",
}
_CONTROLS: Ranges = ((0x00, 0x1F),)
_ESCAPED: Ranges = normal_ranges([(0x00, 0x1F), (_QUOTE, _QUOTE), (_BACKSLASH, _BACKSLASH)])
_IN_LITERAL = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_IN_CLASS = {
    "\\": "\\\\",
    "]": "\\]",
    "[": "\\[",
    "-": "\\-",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
}

COMMON_RULES = {
    # Blanks are bounded, so that a small model cannot go on in them for ever.
    "ws": '| " " | "\\n" [ \\t]{0,24}',
    "sp": '" "?',
    "hex": "[0-9a-fA-F]",
    # Without escapes of surrogates: a half pair is not text, and whole characters need no escape. The class
    # must not exclude anything beyond ASCII: where a character is split over tokens, llama.cpp refuses its
    # first bytes if any character that begins with them is excluded.
    "char": (
        '[^"\\\\\\x7F\\x00-\\x1F] | "\\\\" (["\\\\/bfnrt] | '
        '"u" ([0-9a-cA-CeEfF] hex hex hex | [dD] [0-7] hex hex))'
    ),
    "string": '"\\"" char* "\\""',
    "integer": '"0" | "-"? [1-9] [0-9]{0,15}',
    "number": ('"-"? ("0" | [1-9] [0-9]{0,15}) ("." [0-9]{1,15})? ([eE] [-+]? [0-9]{1,2})?'),
    "boolean": '"true" | "false"',
    "value": 'object | array | string | number | boolean | "null"',
    "object": '"{" ws ("}" | member ("," ws member)* ws "}")',
    "member": 'string ":" sp value',
    "array": '"[" ws ("]" | value ("," ws value)* ws "]")',
}
"""Rules that every generated grammar may use."""


def literal(text: str) -> str:
    """Return `text` as a GBNF string."""
    return '"' + "".join(_IN_LITERAL.get(char) or _visible(char) for char in text) + '"'


def _visible(char: str) -> str:
    code = ord(char)
    if 0x20 <= code < 0x7F:
        return char
    return f"\\u{code:04X}" if code < 0x10000 else f"\\U{code:08X}"


def char_class(ranges: Ranges) -> str:
    """Return the GBNF class of the characters in normal, non-empty `ranges`."""
    parts = []
    for low, high in ranges:
        parts.append(_class_char(low) if low == high else f"{_class_char(low)}-{_class_char(high)}")
    return f"[{''.join(parts)}]"


def _class_char(code: int) -> str:
    char = chr(code)
    # A circumflex has no escape of its own, and negates the class where it comes first.
    return "\\x5E" if char == "^" else _IN_CLASS.get(char) or _visible(char)


def json_chars(ranges: Ranges) -> list[str]:
    """Return the ways to write one character of `ranges` within a JSON string, as GBNF sequences."""
    if ranges == ANY:
        return ["char"]
    ways = []
    if raw := minus(ranges, _ESCAPED):
        ways.append(char_class(raw))
    escaped = common(ranges, _ESCAPED)
    codes = [code for low, high in escaped for code in range(low, high + 1)]
    if short := [ord(_SHORT_ESCAPES[code]) for code in codes if code in _SHORT_ESCAPES]:
        ways.append(f'"\\\\" {char_class(normal_ranges([(code, code) for code in short]))}')
    for half in (0, 1):
        digits = [
            ord(f"{code:02x}"[1])
            for code in codes
            if code >> 4 == half and code < 0x20 and code not in _SHORT_ESCAPES
        ]
        if digits:
            last = char_class(normal_ranges([(digit, digit) for digit in digits]))
            ways.append(f'"\\\\u00{half}" {last}')
    return ways


def plain_chars(ranges: Ranges) -> list[str]:
    """Return the ways to write one character of `ranges` as itself."""
    return [char_class(ranges)]


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
        """Write an automaton that accepts something, one rule a state; return the name of the first.

        Args:
            kind: Beginning of the rule names.
            automaton: What to write.
            chars: How one character is written.
            end: What follows where the text may end.
        """
        names = [self.name(kind) for _ in automaton.edges]
        for state, edges in enumerate(automaton.edges):
            ways = [end] if automaton.accepting[state] else []
            for target, ranges in edges.items():
                ways += [f"{way} {names[target]}" for way in chars(ranges)]
            self.define(names[state], " | ".join(ways))
        return names[0]

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


def _shared(first: str, last: str) -> int:
    length = 0
    for one, other in zip(first, last, strict=False):
        if one != other:
            break
        length += 1
    return length


def json_text(value: object) -> str:
    """Return `value` as compact JSON."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
