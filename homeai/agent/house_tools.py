"""The tools that every house has: the time, and a notebook for each client."""

from __future__ import annotations

import asyncio
import os
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

from homeai.agent.tool import HouseTool, Toolbox, ToolFailed
from homeai.journal.effects import Kind

MOST_CHARS = 2000
_MOST_READ = 50
_MOST_BYTES = 4 * 2**20


class Notebook:
    """One file a client, one line a note; nobody reads another's.

    Args:
        folder: Of the files.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    async def write(self, arguments: dict[str, Any], client: str) -> dict[str, Any]:
        """Add a note.

        Raises:
            ToolFailed: It is empty or too long, or the notebook is full or cannot be opened; nothing
                was written.
        """
        text = " ".join(str(arguments.get("text", "")).split())
        if not 0 < len(text) <= MOST_CHARS:
            raise ToolFailed(f"A note has 1 to {MOST_CHARS} characters.")
        line = f"{datetime.now().astimezone().isoformat(timespec='seconds')} {text}\n".encode()
        return {"written": text, "notes": await asyncio.to_thread(self._append, client, line)}

    async def read(self, _arguments: dict[str, Any], client: str) -> list[str]:
        """The last notes, oldest first."""
        lines = await asyncio.to_thread(self._lines, client)
        return lines[-_MOST_READ:]

    def _append(self, client: str, line: bytes) -> int:
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            file = os.open(self._file(client), os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600)
        except OSError as error:
            raise ToolFailed(f"The notebook cannot be opened: {error.strerror}.") from error
        try:
            if os.fstat(file).st_size > _MOST_BYTES:
                raise ToolFailed("The notebook is full.")
            os.write(file, line)
            os.fsync(file)
        finally:
            os.close(file)
        return len(self._lines(client))

    def _lines(self, client: str) -> list[str]:
        try:
            return self._file(client).read_text(encoding="utf-8", errors="replace").splitlines()
        except FileNotFoundError:
            return []

    def _file(self, client: str) -> Path:
        # the part behind the colon tells programs of this computer apart by connection
        owner = client.partition(":")[0]
        return self._folder / f"{quote(owner, safe='')}.txt"


async def _current_time(_arguments: dict[str, Any], _client: str) -> str:
    return datetime.now().astimezone().strftime("%A, %d %B %Y, %H:%M %Z")


def house_tools(notes: Path) -> Toolbox:
    """The tools of a core whose notebooks lie in the folder `notes`."""
    notebook = Notebook(notes)
    nothing: dict[str, Any] = {"type": "object", "properties": {}, "additionalProperties": False}
    text = {
        "type": "object",
        "properties": {"text": {"type": "string", "maxLength": 200}},
        "required": ["text"],
        "additionalProperties": False,
    }
    return Toolbox(
        [
            HouseTool("current_time", "The date and time now.", nothing, Kind.PURE, _current_time),
            HouseTool(
                "write_note",
                "Write a note into the user's notebook.",
                text,
                Kind.IRREVERSIBLE,
                notebook.write,
            ),
            HouseTool(
                "read_notes",
                "Read the last notes of the user's notebook.",
                nothing,
                Kind.PURE,
                notebook.read,
            ),
        ]
    )
