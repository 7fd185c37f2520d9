"""Finds where a JSON object or array ends in a text that is still growing."""

from __future__ import annotations


class JsonEnd:
    """Follows brackets and strings; whether it is good JSON is for a parser to say.

    Args:
        start: Index of the opening bracket.
    """

    def __init__(self, start: int) -> None:
        self._at, self._depth = start, 0
        self._in_string = self._escaped = False

    def find(self, text: str) -> int | None:
        """Return the index behind the value, or None while it is not complete.

        Args:
            text: What was given before, and more.
        """
        for index in range(self._at, len(text)):
            char = text[index]
            if self._in_string:
                if self._escaped:
                    self._escaped = False
                elif char == "\\":
                    self._escaped = True
                elif char == '"':
                    self._in_string = False
            elif char == '"':
                self._in_string = True
            elif char in "{[":
                self._depth += 1
            elif char in "}]":
                self._depth -= 1
                if self._depth <= 0:
                    return index + 1
        self._at = max(len(text), self._at)
        return None
