"""Tools that run inside the core, and what happens if one is called twice."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import Any

from homeai.journal.effects import Kind

Act = Callable[[dict[str, Any], str], Awaitable[Any]]
"""Takes arguments and the client's name; returns what JSON can hold."""


class ToolFailed(Exception):
    """The tool did nothing, and says why; the model hears it as the result."""


@dataclass(frozen=True, slots=True)
class HouseTool:
    """A tool.

    Attributes:
        name: 1 to 64 letters, digits, _ or -.
        description: For the model.
        parameters: JSON schema of its arguments.
        kind: What calling it twice does.
        act: Does it. Raises `ToolFailed` only if nothing was done.
    """

    name: str
    description: str
    parameters: dict[str, Any]
    kind: Kind
    act: Act

    def described(self) -> dict[str, Any]:
        """As OpenAI's `tools` hold it."""
        return {
            "type": "function",
            "function": {
                "name": self.name,
                "description": self.description,
                "parameters": self.parameters,
            },
        }


class Toolbox:
    """The tools of a core, by name."""

    def __init__(self, tools: Iterable[HouseTool]) -> None:
        self._tools = {tool.name: tool for tool in tools}

    @property
    def names(self) -> list[str]:
        """Names, in the order in which the tools were put in."""
        return list(self._tools)

    def get(self, name: str) -> HouseTool | None:
        """The tool of that name."""
        return self._tools.get(name)

    def all(self) -> list[HouseTool]:
        """Every tool."""
        return list(self._tools.values())
