"""Reads the single elements of GBNF text: names, numbers, characters, strings, classes, tokens."""

from __future__ import annotations

from typing import NoReturn

from homeai.domain.errors import InvalidSchema
from homeai.structured.grammar import MAX_CODE_POINT, Chars, Token, complement, normal_ranges

WORD = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-")
DIGITS = frozenset("0123456789")
END = ""
"""What `GbnfReader.peek` returns at the end."""

_HEX = frozenset("0123456789abcdefABCDEF")
_ESCAPES = {"t": "\t", "r": "\r", "n": "\n", **{c: c for c in '\\"[]-'}}
_HEX_ESCAPES = {"x": 2, "u": 4, "U": 8}
_MAX_TOKEN_ID = 2**31 - 1


def grammar_error(text: str, position: int, problem: str, rule: str = "") -> InvalidSchema:
    """Return the error for `problem` at character offset `position` of `text`, in `rule` if known."""
    line = text.count("\n", 0, position) + 1
    column = position - (text.rfind("\n", 0, position) + 1) + 1
    named = f'in rule "{rule[:40]}", ' if rule else ""
    return InvalidSchema(
        f"grammar, line {line}, column {column}: {named}{problem}",
        param="grammar",
        details={"line": line, "column": column, "rule": rule[:40], "problem": problem},
    )


class GbnfReader:
    """A place in a text.

    Attributes:
        at: Offset of the next character.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self.at = 0

    def peek(self, ahead: int = 0) -> str:
        """Return the next character, or the one `ahead` behind it; `END` at the end."""
        return self._text[self.at + ahead : self.at + ahead + 1]

    def take(self, expected: str) -> None:
        """Step over `expected`, or fail."""
        if not self._text.startswith(expected, self.at):
            self.expected(f'"{expected}"')
        self.at += len(expected)

    def fail(self, problem: str, position: int | None = None) -> NoReturn:
        """Raise the error for `problem` here, or at `position`."""
        raise grammar_error(self._text, self.at if position is None else position, problem)

    def expected(self, what: str) -> NoReturn:
        """Raise the error for something else than `what`."""
        found = self.peek()
        self.fail(f"expected {what}, found {repr(found) if found else 'the end'}")

    def space(self, *, newline_ok: bool) -> None:
        """Step over blanks and comments, and over line ends if `newline_ok`."""
        blanks = " \t\r\n" if newline_ok else " \t"
        while (char := self.peek()) and (char in blanks or char == "#"):
            if char != "#":
                self.at += 1
                continue
            while self.peek() not in ("\r", "\n", END):
                self.at += 1

    def run_of(self, allowed: frozenset[str], what: str) -> str:
        """Return the longest run, at least one, of `allowed` characters."""
        start = self.at
        while self.peek() in allowed:
            self.at += 1
        if self.at == start:
            self.expected(what)
        return self._text[start : self.at]

    def number(self, what: str, largest: int) -> int:
        """Return a decimal number up to `largest`."""
        start = self.at
        digits = self.run_of(DIGITS, what)
        # The length first: int() of very many digits is slow, and newer Pythons refuse it.
        if len(digits) > 20 or int(digits) > largest:
            self.fail(f"{digits[:24]} is too large; at most {largest} is allowed", start)
        return int(digits)

    def char(self) -> int:
        """Return the code point of one character or escape of a string or class."""
        char = self.peek()
        if char == END:
            self.expected("a character")
        if char != "\\":
            self.at += 1
            return ord(char)
        escape = self.peek(1)
        if escape in _HEX_ESCAPES:
            return self._hex_escape(escape)
        if escape not in _ESCAPES:
            self.fail(
                f"unknown escape {char + escape!r}; there are "
                r"\t \r \n \\ \" \[ \] \- \xXX \uXXXX \UXXXXXXXX"
            )
        self.at += 2
        return ord(_ESCAPES[escape])

    def _hex_escape(self, kind: str) -> int:
        size = _HEX_ESCAPES[kind]
        digits = self._text[self.at + 2 : self.at + 2 + size]
        if len(digits) != size or not _HEX.issuperset(digits):
            self.fail(f"\\{kind} needs {size} hexadecimal digits")
        if (value := int(digits, 16)) > MAX_CODE_POINT:
            self.fail("there is no character beyond U+10FFFF")
        self.at += 2 + size
        return value

    def literal(self) -> list[Chars]:
        """Return the characters of a string in double quotes."""
        start = self.at
        self.take('"')
        chars = []
        while self.peek() != '"':
            if self.peek() == END:
                self.fail("this string has no closing quote", start)
            char = self.char()
            chars.append(Chars(((char, char),)))
        self.at += 1
        return chars

    def char_class(self) -> Chars:
        """Return a class in square brackets."""
        start = self.at
        self.take("[")
        negated = self.peek() == "^"
        self.at += negated
        ranges: list[tuple[int, int]] = []
        weight = 0
        while self.peek() != "]":
            if self.peek() == END:
                self.fail("this character class has no closing ]", start)
            low = high = self.char()
            weight += 1
            # A dash before the closing bracket is a dash.
            if self.peek() == "-" and self.peek(1) != "]":
                self.at += 1
                high = self.char()
                weight += 1
            if low > high:
                self.fail("this character range is in the wrong order", start)
            ranges.append((low, high))
        if not ranges:
            self.fail("this character class is empty", start)
        self.at += 1
        normal = normal_ranges(ranges)
        if negated and not (normal := complement(normal)):
            self.fail("this character class excludes every character", start)
        return Chars(normal, weight)

    def token(self) -> Token:
        """Return a token: `<[id]>` or `<text>`, with `!` before it for its opposite."""
        negated = self.peek() == "!"
        self.at += negated
        start = self.at
        self.take("<")
        if self.peek() == "[":
            self.at += 1
            number = self.number("a token id", _MAX_TOKEN_ID)
            self.take("]>")
            return Token(number, negated)
        end = self._text.find(">", start)
        if end < 0:
            self.fail('this token has no closing ">"', start)
        self.at = end + 1
        return Token(self._text[start : self.at], negated)
