"""From arrival to a prompt of known length: asks a worker for token ids, compares with its context."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from homeai.domain.errors import HomeAIError
from homeai.protocol.messages import Prepared
from homeai.router import admission, orders
from homeai.router.generation import Generation
from homeai.router.parties import Worker


class Preparation:
    """Requests whose prompts are being tokenised.

    Args:
        worker: Who knows the template and the vocabulary.
        tickets: Fresh tickets.
        fail: Called with a request whose prompt does not fit, and why.
    """

    def __init__(
        self,
        worker: Worker,
        tickets: Iterator[int],
        fail: Callable[[Generation, HomeAIError], None],
    ) -> None:
        self._worker, self._tickets, self._fail = worker, tickets, fail
        self._open: dict[int, Generation] = {}

    def ask(self, generation: Generation) -> None:
        """Begin, if a worker can; else `resume` does once it is ready."""
        if self._worker.ready is None or generation.prompt_ids is not None:
            return
        ticket = next(self._tickets)
        self._open[ticket] = generation
        self._worker.send(orders.prepare(ticket, generation.request))

    def expect(self, ticket: int, generation: Generation) -> None:
        """The prompt was sent along with an order: its ids will come under that ticket."""
        self._open[ticket] = generation

    def resume(self, generations: Iterable[Generation]) -> None:
        """A worker became ready: begin anew with all that wait."""
        for generation in generations:
            if generation.prompt_ids is None:
                self.ask(generation)
            else:
                self._measure(generation)

    def done(self, message: Prepared) -> None:
        """A prompt's ids came."""
        generation = self._open.pop(message.ticket, None)
        if generation is None or generation.ended:
            return
        generation.prompt_ids, generation.prompt_text = message.prompt_ids, message.text
        generation.prompt_tokens = len(message.prompt_ids) // 4
        self._measure(generation)

    def take(self, ticket: int) -> Generation | None:
        """Forget a ticket that was refused and return its request."""
        return self._open.pop(ticket, None)

    def clear(self) -> None:
        """The worker is gone: nothing of what was asked will come."""
        self._open.clear()

    def _measure(self, generation: Generation) -> None:
        ready = self._worker.ready
        if ready is None:
            return
        length = admission.answer_length(
            prompt_tokens=generation.prompt_tokens,
            max_tokens=generation.request.max_tokens,
            context_tokens=ready.context_tokens,
        )
        if isinstance(length, admission.Refuse):
            self._fail(generation, length.error)
        else:
            generation.answer_tokens = length
