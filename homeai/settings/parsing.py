"""Words that people write for numbers and switches: "8G", "512 MiB", "yes"."""

from __future__ import annotations

import json
import re
from fractions import Fraction
from typing import Annotated

from pydantic import BeforeValidator

_SIZE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]?)(i?b)?\s*", re.IGNORECASE)
_MIB_PER_UNIT = {
    "": Fraction(1),
    "k": Fraction(1, 1024),
    "m": Fraction(1),
    "g": Fraction(1024),
    "t": Fraction(1024**2),
}
_YES, _NO = {"1", "true", "yes", "on"}, {"0", "false", "no", "off"}


def parse_mib(value: object) -> object:
    """Return mebibytes for texts such as "8G" or "512 MiB"; a bare number is MiB already."""
    if isinstance(value, bool):
        raise ValueError("a size, not a switch")  # noqa: TRY004 -- pydantic collects ValueErrors
    if not isinstance(value, str):
        return value
    match = _SIZE.fullmatch(value)
    if match is None:
        raise ValueError("a size such as 512, 512M or 8G")
    mib = Fraction(match[1]) * _MIB_PER_UNIT[match[2].lower()]
    if mib.denominator != 1:
        raise ValueError("a whole number of MiB")
    return int(mib)


def parse_switch(value: object) -> object:
    """Return a bool for yes/no, on/off, true/false, 1/0 in any case."""
    if isinstance(value, bool):
        return value
    word = str(value).strip().lower()
    if word in _YES:
        return True
    if word in _NO:
        return False
    raise ValueError("yes or no")


def parse_list(value: object) -> object:
    """Return a list for a comma-separated text or one in JSON's brackets; a list stays as it is."""
    if isinstance(value, str):
        if value.strip().startswith("["):
            try:
                return json.loads(value)
            except ValueError:
                raise ValueError('a list such as a, b or ["a", "b"]') from None
        return [part.strip() for part in value.split(",") if part.strip()]
    return value


def parse_auto(value: object) -> object:
    """Return a whole number for digits; "auto" in any case becomes "auto"."""
    if isinstance(value, str):
        word = value.strip().lower()
        return int(word) if word.isdecimal() else word
    return value


Mib = Annotated[int, BeforeValidator(parse_mib)]
Switch = Annotated[bool, BeforeValidator(parse_switch)]
Texts = Annotated[tuple[str, ...], BeforeValidator(parse_list)]
