"""The tools a client offers for one answer, and how free the model is to use them."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class Choice(StrEnum):
    """How free the model is."""

    NONE = "none"
    """It is shown no tool."""
    AUTO = "auto"
    """It may call tools, or answer in words."""
    REQUIRED = "required"
    """It must call a tool; a grammar sees to that."""


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool.

    Attributes:
        name: 1 to 64 letters, digits, _ or -.
        parameters: JSON schema of its arguments, an object.
    """

    name: str
    parameters: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Offer:
    """What may be called.

    Attributes:
        tools: Those that may be called; only the named one if one was named.
        choice: How free the model is.
        parallel: Whether one answer may hold several calls.
    """

    tools: tuple[Tool, ...]
    choice: Choice = Choice.AUTO
    parallel: bool = True

    def find(self, name: object) -> Tool | None:
        """The offered tool of that name."""
        return next((tool for tool in self.tools if tool.name == name), None)


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A complete call.

    Attributes:
        name: Of an offered tool.
        arguments: A JSON object.
    """

    name: str
    arguments: str


def call_id(request_id: str, choice: int, number: int) -> str:
    """The id of a call: the same whichever worker wrote it, since the request keeps its own id."""
    text = f"{request_id}/{choice}/{number}"
    return f"call_{hashlib.sha256(text.encode()).hexdigest()[:24]}"
