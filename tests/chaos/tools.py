"""What clients of a storm do with tools: forced calls, and agent runs that write notes."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock

TOOL = {
    "type": "function",
    "function": {
        "name": "weather",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string", "maxLength": 12}},
            "required": ["city"],
            "additionalProperties": False,
        },
    },
}
FORCED = {
    "messages": [{"role": "user", "content": "How is the weather in Bonn?"}],
    "tools": [TOOL],
    "tool_choice": "required",
    "parallel_tool_calls": False,
    "max_tokens": 60,
    "seed": 4,
}
RUN = {
    "messages": [{"role": "user", "content": "Write a note about the garden."}],
    "tools": ["write_note"],
    "tool_choice": "write_note",
    "max_turns": 2,
    "max_tokens": 120,
    "temperature": 0,
}


def call_of(body: dict) -> tuple[str, dict]:
    """Name and arguments of the one call of a chat answer."""
    (call,) = body["choices"][0]["message"]["tool_calls"]
    return call["function"]["name"], json.loads(call["function"]["arguments"])


@dataclass
class NoteAccount:
    """How many notes there must be in the end.

    Attributes:
        notebook: File of the notes.
        certain: Notes that answers told of.
    """

    notebook: Path
    certain: int = 0
    wrong: list[str] = field(default_factory=list)
    _lock: Lock = field(default_factory=Lock)

    def finished(self, name: str, body: dict) -> None:
        """A run is complete: it wrote what it tells of."""
        with self._lock:
            self.certain += len(body["steps"])
            if len(body["steps"]) != 1:
                self.wrong.append(f"{name}: {len(body['steps'])} calls instead of one")

    def failed(self, error: dict) -> None:
        """A run ended early; if its tool had acted, the error says so."""
        effects = error["homeai"].get("effects", ())
        with self._lock:
            self.certain += sum(effect["state"] == "committed" for effect in effects)

    def problems(self) -> list[str]:
        """What does not agree between the answers and the notebook."""
        lines = self.notebook.read_text().splitlines() if self.notebook.exists() else []
        if len(lines) == self.certain:
            return self.wrong
        return [*self.wrong, f"{len(lines)} notes, but answers tell of {self.certain}"]
