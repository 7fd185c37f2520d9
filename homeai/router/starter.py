"""Begins attempts: has each written down, and asks a worker for every answer that is not complete yet.

The worker need not wait for the disk: nothing it says of an attempt is heard before that is written.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator

from homeai.router import orders
from homeai.router.answers import Answers
from homeai.router.generation import Generation
from homeai.router.hearing import Hearing
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
        hearing: Listens to an attempt once it is written.
    """

    def __init__(
        self,
        tickets: Iterator[int],
        preparation: Preparation,
        answers: Answers,
        recorder: Recorder,
        hearing: Hearing,
    ) -> None:
        self._tickets, self._preparation = tickets, preparation
        self._answers, self._recorder, self._hearing = answers, recorder, hearing

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

        generation.unheard = []
        written = functools.partial(self._hearing.attempt_is_written, generation, number)
        self._recorder.attempt(generation.request_id, number, lane.name, lane.name, written)
        for ticket, choice in tickets.items():
            lane.worker.send(orders.submit(ticket, generation, choice))
