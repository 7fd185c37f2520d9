"""Reading one field of a JSON body at a time, with an error that says what was given and what is allowed."""

from __future__ import annotations

import math
from typing import Any

from homeai.domain.errors import BadRequest

_SHOWN = 60


class Fields:
    """A JSON object whose fields are taken out one by one.

    Args:
        body: The decoded object.
        where: Prefix of field names in errors, such as `messages[0].`.
    """

    def __init__(self, body: dict[str, Any], where: str = "") -> None:
        self._body, self._where = dict(body), where

    def take(self, name: str) -> Any:  # noqa: ANN401 -- JSON
        """Remove and return a field; None if it is missing or null."""
        return self._body.pop(name, None)

    @property
    def rest(self) -> dict[str, Any]:
        """Fields nobody took."""
        return self._body

    def wrong(self, name: str, given: object, allowed: str) -> BadRequest:
        """The error for a field."""
        full = self._where + name
        return BadRequest(f"{full}: {shown(given)} was given; allowed is {allowed}.", param=full)

    def number(
        self, name: str, default: float, low: float, high: float, *, above: bool = False
    ) -> float:
        """Return a number within low … high; `above` excludes `low` itself."""
        value = self.take(name)
        if value is None:
            return default
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if (
            not is_number
            or not math.isfinite(value)
            or not low <= value <= high
            or (above and value == low)
        ):
            span = f"a number {'above' if above else 'from'} {low:g} to {high:g}"
            raise self.wrong(name, value, span)
        return float(value)

    def count(self, name: str, default: int | None, low: int, high: int) -> int | None:
        """Return a whole number within low … high."""
        value = self.take(name)
        if value is None:
            return default
        whole = isinstance(value, int) and not isinstance(value, bool)
        if not whole or not low <= value <= high:
            raise self.wrong(name, value, f"a whole number from {low} to {high}")
        return int(value)

    def switch(self, name: str, *, default: bool = False) -> bool:
        """Return true or false."""
        value = self.take(name)
        if value is None:
            return default
        if not isinstance(value, bool):
            raise self.wrong(name, value, "true or false")
        return value

    def text(self, name: str, default: str = "") -> str:
        """Return a text."""
        value = self.take(name)
        if value is None:
            return default
        if not isinstance(value, str):
            raise self.wrong(name, value, "a text")
        return value

    def object(self, name: str) -> dict[str, Any] | None:
        """Return an object, or None."""
        value = self.take(name)
        if value is not None and not isinstance(value, dict):
            raise self.wrong(name, value, "an object")
        return value


def shown(value: object) -> str:
    """Return a short form of what was given: long and nested values by kind only, never in full."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, str):
        return repr(value) if len(value) <= _SHOWN else f"a text of {len(value)} characters"
    return "a list" if isinstance(value, list) else "an object"
