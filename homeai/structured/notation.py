"""Characters, literals and common rules in GBNF notation."""

from __future__ import annotations

import json

from homeai.structured.expression import ANY, Ranges, common, minus
from homeai.structured.grammar import normal_ranges

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


def json_text(value: object) -> str:
    """Return `value` as compact JSON."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
