r"""Regular expressions of JSON schemas (`pattern`), the part of ECMA-262 that is regular.

Read as with the `u` flag, and searched for anywhere in the text, as JSON Schema says. Understood:

- characters, `.`, classes `[a-z]` `[^…]`, `\d \D \w \W \s \S`, escapes `\t \n \v \f \r \0 \xHH \uHHHH \u{…}`
  and `\` before a punctuation character;
- `|`, groups `(…)` `(?:…)` `(?<name>…)`;
- `* + ? {m} {m,} {m,n}`, each also lazy (the language is the same);
- `^` at the beginning and `$` at the end of the whole pattern or of one of its outermost alternatives.

Refused: back references, look-around, `\b`, `\p{…}`, `^` and `$` elsewhere.
"""

from __future__ import annotations

from typing import NoReturn

from homeai.domain.errors import InvalidSchema
from homeai.structured.automaton import Automaton, build
from homeai.structured.expression import (
    ANY,
    ANY_TEXT,
    CharSet,
    Choice,
    Expression,
    Ranges,
    Repeat,
    Sequence,
    minus,
)
from homeai.structured.grammar import normal_ranges

_DIGIT: Ranges = ((0x30, 0x39),)
_WORD: Ranges = ((0x30, 0x39), (0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A))
_SPACE: Ranges = normal_ranges(
    [
        (0x09, 0x0D),
        (0x20, 0x20),
        (0xA0, 0xA0),
        (0x1680, 0x1680),
        (0x2000, 0x200A),
        (0x2028, 0x2029),
        (0x202F, 0x202F),
        (0x205F, 0x205F),
        (0x3000, 0x3000),
        (0xFEFF, 0xFEFF),
    ]
)
_NOT_LINE_END: Ranges = minus(ANY, ((0x0A, 0x0A), (0x0D, 0x0D), (0x2028, 0x2029)))
_CLASS_ESCAPES: dict[str, Ranges] = {
    "d": _DIGIT,
    "D": minus(ANY, _DIGIT),
    "w": _WORD,
    "W": minus(ANY, _WORD),
    "s": _SPACE,
    "S": minus(ANY, _SPACE),
}
_CONTROL_ESCAPES = {"t": 0x09, "n": 0x0A, "v": 0x0B, "f": 0x0C, "r": 0x0D, "0": 0x00}
_SYNTAX = frozenset("^$\\.*+?()[]{}|/")
_HEX = frozenset("0123456789abcdefABCDEF")
_MAX_REPEAT = 2000
_MAX_NESTING = 50


def pattern_automaton(pattern: str) -> Automaton:
    """Return the automaton of every text in which `pattern` is found.

    Raises:
        InvalidSchema: The pattern is malformed, uses something that is not supported, or is too large.
    """
    return build(_Reader(pattern).read())


class _Reader:
    """Recursive descent over one pattern."""

    def __init__(self, pattern: str) -> None:
        self._text = pattern
        self._at = 0
        self._depth = 0

    def read(self) -> list[tuple[Expression, bool]]:
        """Return the outermost alternatives, each with whether any text may follow."""
        options = []
        while True:
            anchored = self._take("^")
            body = self._sequence(outermost=True)
            closed = self._take("$")
            options.append((body if anchored else Sequence((ANY_TEXT, body)), not closed))
            if not self._take("|"):
                break
        if self._at < len(self._text):
            self._unexpected()
        return options

    def _peek(self, ahead: int = 0) -> str:
        return self._text[self._at + ahead : self._at + ahead + 1]

    def _take(self, text: str) -> bool:
        if self._text.startswith(text, self._at):
            self._at += len(text)
            return True
        return False

    def _fail(self, problem: str) -> NoReturn:
        raise InvalidSchema(f"pattern, character {self._at + 1}: {problem}")

    def _unexpected(self) -> NoReturn:
        char = self._peek()
        if char in ("^", "$"):
            self._fail(
                f"{char!r} is supported only at the {'beginning' if char == '^' else 'end'} of the "
                "pattern or of an outermost alternative"
            )
        self._fail(f"unexpected {char!r}" if char else "unexpected end")

    def _choice(self) -> Expression:
        options = [self._sequence(outermost=False)]
        while self._take("|"):
            options.append(self._sequence(outermost=False))
        return options[0] if len(options) == 1 else Choice(tuple(options))

    def _sequence(self, *, outermost: bool) -> Expression:
        parts: list[Expression] = []
        while (char := self._peek()) and char not in "|)":
            if char == "$" and outermost:
                break
            parts.append(self._quantified(self._atom()))
        return parts[0] if len(parts) == 1 else Sequence(tuple(parts))

    def _quantified(self, atom: Expression) -> Expression:
        char = self._peek()
        if not char or char not in "*+?{":
            return atom
        self._at += 1
        low, high = {"*": (0, None), "+": (1, None), "?": (0, 1)}.get(char) or self._bounds()
        self._take("?")
        if (char := self._peek()) and char in "*+?{":
            self._fail(f"nothing before {char!r} to repeat")
        return Repeat(atom, low, high)

    def _bounds(self) -> tuple[int, int | None]:
        low = self._count()
        high: int | None = low
        if self._take(","):
            high = None if self._peek() == "}" else self._count()
        if not self._take("}"):
            self._fail("expected '}'")
        if high is not None and high < low:
            self._fail(f"{{{low},{high}}} has its bounds in the wrong order")
        return low, high

    def _count(self) -> int:
        start = self._at
        while self._peek() in tuple("0123456789"):
            self._at += 1
        digits = self._text[start : self._at]
        if not digits:
            self._fail("expected a number of repetitions")
        if len(digits) > 6 or int(digits) > _MAX_REPEAT:
            self._fail(f"{digits[:12]} repetitions; at most {_MAX_REPEAT} are supported")
        return int(digits)

    def _atom(self) -> Expression:
        char = self._peek()
        if char == "(":
            return self._group()
        if char == "[":
            return CharSet(self._char_class())
        if char == ".":
            self._at += 1
            return CharSet(_NOT_LINE_END)
        if char == "\\":
            return CharSet(self._escape(in_class=False))
        if char in "^$*+?{}]":
            self._unexpected()
        self._at += 1
        return CharSet(((ord(char), ord(char)),))

    def _group(self) -> Expression:
        self._depth += 1
        if self._depth > _MAX_NESTING:
            self._fail(f"groups deeper than {_MAX_NESTING}")
        self._at += 1
        if self._take("?") and not self._take(":"):
            if not self._take("<") or self._peek() in ("=", "!"):
                self._fail("look-around and flags are not supported")
            end = self._text.find(">", self._at)
            if end < 0 or not self._text[self._at : end].isidentifier():
                self._fail("expected the name of a group")
            self._at = end + 1
        inner = self._choice()
        if not self._take(")"):
            self._unexpected() if self._peek() else self._fail("this group has no closing ')'")
        self._depth -= 1
        return inner

    def _escape(self, *, in_class: bool) -> Ranges:
        char = self._peek(1)
        self._at += 2
        if char in _CLASS_ESCAPES:
            return _CLASS_ESCAPES[char]
        if char in _CONTROL_ESCAPES and not (char == "0" and self._peek() in tuple("0123456789")):
            code = _CONTROL_ESCAPES[char]
        elif char in ("x", "u"):
            code = self._hex_escape(char)
        elif in_class and char == "b":
            code = 0x08
        elif char and (char in _SYNTAX or (in_class and char == "-")):
            code = ord(char)
        else:
            self._at -= 2
            self._fail(f"the escape {chr(92) + char!r} is not supported")
        return ((code, code),)

    def _hex_escape(self, kind: str) -> int:
        code = self._hex_digits(kind)
        if 0xD800 <= code <= 0xDBFF and kind == "u" and self._take("\\u"):
            low = self._hex_digits("u")
            if not 0xDC00 <= low <= 0xDFFF:
                self._fail("half a surrogate pair is no character")
            code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00)
        if code > 0x10FFFF or 0xD800 <= code <= 0xDFFF:
            self._fail("there is no such character")
        return code

    def _hex_digits(self, kind: str) -> int:
        if kind == "u" and self._take("{"):
            end = self._text.find("}", self._at)
            digits = self._text[self._at : max(end, self._at)]
            self._at = end + 1
        else:
            size = 2 if kind == "x" else 4
            digits = self._text[self._at : self._at + size]
            self._at += len(digits)
            if len(digits) < size:
                digits = ""
        if not digits or len(digits) > 6 or not _HEX.issuperset(digits):
            self._fail(f"\\{kind} needs hexadecimal digits")
        return int(digits, 16)

    def _char_class(self) -> Ranges:
        self._at += 1
        negated = self._take("^")
        ranges: list[tuple[int, int]] = []
        while not self._take("]"):
            first = self._class_atom()
            if self._peek() == "-" and self._peek(1) not in ("]", ""):
                self._at += 1
                last = self._class_atom()
                ranges.append(self._range(first, last))
            else:
                ranges.extend(first)
        normal = minus(normal_ranges(ranges), ((0xD800, 0xDFFF),))
        return minus(ANY, normal) if negated else normal

    def _range(self, first: Ranges, last: Ranges) -> tuple[int, int]:
        for side in (first, last):
            if len(side) > 1 or side[0][0] != side[0][1]:
                self._fail("a range needs a single character on both sides")
        if first[0][0] > last[0][0]:
            self._fail("this range is in the wrong order")
        return first[0][0], last[0][0]

    def _class_atom(self) -> Ranges:
        char = self._peek()
        if not char:
            self._fail("this class has no closing ']'")
        if char == "\\":
            return self._escape(in_class=True)
        self._at += 1
        return ((ord(char), ord(char)),)
