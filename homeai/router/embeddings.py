"""Questions to a worker outside the line: embeddings (tokenise each input, then one call), token counts."""

from __future__ import annotations

import asyncio
import itertools
from array import array
from collections.abc import Sequence
from typing import Protocol

from homeai.domain.errors import WorkerFailed, from_code
from homeai.domain.request import Prompt, TextPrompt, TokenPrompt
from homeai.protocol.messages import (
    Embed,
    Embedded,
    FromWorker,
    Prepare,
    Prepared,
    Refused,
    ToWorker,
)
from homeai.supervisor.diagnosis import Ending

_FIRST_TICKET = 2**40
"""Far above the tickets of generations, so that the two never meet."""

Reply = Prepared | Embedded


class _Sender(Protocol):
    def send(self, message: ToWorker) -> str:
        """Post a message; returns the name of the worker it went to."""
        ...


class Embeddings:
    """Asks a worker for vectors.

    Args:
        worker: One whose model embeds.
    """

    def __init__(self, worker: _Sender) -> None:
        self._worker = worker
        self._tickets = itertools.count(_FIRST_TICKET)
        self._open: dict[int, tuple[str, asyncio.Future[Reply]]] = {}

    async def embed(self, inputs: Sequence[str | list[int]]) -> tuple[list[list[float]], int]:
        """Return one L2-normalised vector an input, and the number of tokens.

        Raises:
            HomeAIError: An input does not fit, no worker is ready, or the worker died.
        """
        packed: list[bytes] = []
        for value in inputs:
            prompt = TextPrompt(value) if isinstance(value, str) else TokenPrompt(list(value))
            ticket = next(self._tickets)
            prepared = await self._ask(ticket, Prepare(ticket=ticket, prompt=prompt))
            if not isinstance(prepared, Prepared):
                raise WorkerFailed("The worker mixed its answers up.")
            packed.append(prepared.prompt_ids)
        ticket = next(self._tickets)
        answer = await self._ask(ticket, Embed(ticket=ticket, inputs=packed))
        if not isinstance(answer, Embedded):
            raise WorkerFailed("The worker mixed its answers up.")
        return [_floats(vector) for vector in answer.vectors], sum(map(len, packed)) // 4

    async def count(self, prompt: Prompt) -> int:
        """Return the number of tokens of a prompt.

        Raises:
            HomeAIError: The prompt cannot be prepared, no worker is ready, or the worker died.
        """
        ticket = next(self._tickets)
        prepared = await self._ask(ticket, Prepare(ticket=ticket, prompt=prompt))
        if not isinstance(prepared, Prepared):
            raise WorkerFailed("The worker mixed its answers up.")
        return len(prepared.prompt_ids) // 4

    async def _ask(self, ticket: int, message: ToWorker) -> Reply:
        future: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
        self._open[ticket] = self._worker.send(message), future
        try:
            return await future
        finally:
            self._open.pop(ticket, None)

    def on_messages(self, messages: list[FromWorker]) -> None:
        """Take in what a worker sent."""
        for message in messages if self._open else ():
            if isinstance(message, Prepared | Embedded | Refused):
                _, future = self._open.get(message.ticket, ("", None))
                if future is None or future.done():
                    continue
                if isinstance(message, Refused):
                    error = from_code(message.code, message.message, message.param or "input")
                    future.set_exception(error)
                else:
                    future.set_result(message)

    def on_ending(self, name: str, ending: Ending) -> None:
        """A worker died: the questions it had fail."""
        for worker, future in self._open.values():
            if worker == name and not future.done():
                future.set_exception(from_code(ending.code, ending.sentence))


def _floats(packed: bytes) -> list[float]:
    values = array("f")
    values.frombytes(packed)
    return values.tolist()
