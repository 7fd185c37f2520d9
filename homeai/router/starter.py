"""Begins attempts: writes each down, then asks a worker for every answer that is not complete yet."""

from __future__ import annotations

from collections.abc import Iterator

from homeai.router import orders
from homeai.router.answers import Answers
from homeai.router.generation import Generation
from homeai.router.lane import Lane
from homeai.router.parties import Recorder
from homeai.router.preparation import Preparation


class Starter:
    """Begins attempts.

    Args:
        tickets: Fresh tickets.
        preparation: Told of prompts that go along unprepared.
        answers: Numbers the attempts.
        recorder: Writes them down.
    """

    def __init__(
        self,
        tickets: Iterator[int],
        preparation: Preparation,
        answers: Answers,
        recorder: Recorder,
    ) -> None:
        self._tickets, self._preparation = tickets, preparation
        self._answers, self._recorder = answers, recorder

    def start(self, generation: Generation, lane: Lane) -> None:
        """Begin an attempt on a worker that has a free sequence."""
        number = self._answers.dispatched(generation, lane.name)
        tickets: dict[int, int] = {}
        for choice in generation.open_choices:
            ticket = next(self._tickets)
            tickets[ticket] = generation.tickets[ticket] = choice
            lane.open[ticket] = generation
            if generation.prompt_ids is None:
                self._preparation.expect(ticket, generation)

        def send() -> None:
            for ticket, choice in tickets.items():
                if lane.open.get(ticket) is generation:  # else it ended while it was written down
                    lane.worker.send(orders.submit(ticket, generation, choice))

        self._recorder.attempt(generation.request_id, number, lane.name, lane.name, send)
