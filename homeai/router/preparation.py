"""From arrival to a prompt of known length: asks a worker for token ids, compares with its context."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from homeai.protocol.messages import Prepared
from homeai.router import orders
from homeai.router.generation import Generation
from homeai.router.lane import Lane


class Preparation:
    """Requests whose prompts are being tokenised. All workers have the same model, so any can do it.

    Args:
        lanes: The workers.
        tickets: Fresh tickets.
        measured: Called with a request whose prompt's length is known, also again for another worker.
    """

    def __init__(
        self,
        lanes: Mapping[str, Lane],
        tickets: Iterator[int],
        measured: Callable[[Generation], None],
    ) -> None:
        self._lanes, self._tickets, self._measured = lanes, tickets, measured
        self._open: dict[int, tuple[Generation, str]] = {}

    def ask(self, generation: Generation) -> None:
        """Begin, if a worker can; else `resume` does once one is ready."""
        if generation.prompt_ids is not None:
            return
        names = (generation.lane, *self._lanes)
        name = next((n for n in names if n and self._lanes[n].worker.ready is not None), None)
        if name is None:
            return
        ticket = next(self._tickets)
        self._open[ticket] = generation, name
        self._lanes[name].worker.send(orders.prepare(ticket, generation.request))

    def expect(self, ticket: int, generation: Generation) -> None:
        """The prompt was sent along with an order: its ids will come under that ticket."""
        self._open[ticket] = generation, generation.lane

    def resume(self, generations: Iterable[Generation]) -> None:
        """A worker became ready: begin anew with all that wait and have no ids yet."""
        asked = {id(generation) for generation, _ in self._open.values()}
        for generation in generations:
            if generation.prompt_ids is not None:
                self._measured(generation)
            elif id(generation) not in asked:
                self.ask(generation)

    def done(self, message: Prepared) -> None:
        """A prompt's ids came."""
        generation, _ = self._open.pop(message.ticket, (None, ""))
        if generation is None or generation.ended:
            return
        generation.prompt_ids, generation.prompt_text = message.prompt_ids, message.text
        generation.prompt_tokens = len(message.prompt_ids) // 4
        self._measured(generation)

    def take(self, ticket: int) -> Generation | None:
        """Forget a ticket that was refused and return its request."""
        return self._open.pop(ticket, (None, ""))[0]

    def clear(self, lane: str) -> None:
        """A worker is gone: what it was asked for is asked for elsewhere, if that is possible."""
        lost = [ticket for ticket, (_, name) in self._open.items() if name == lane]
        for ticket in lost:
            generation, _ = self._open.pop(ticket)
            if not generation.ended:
                self.ask(generation)
