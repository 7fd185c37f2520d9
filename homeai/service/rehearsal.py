"""Finds out before any fault whether the CPU worker could take over, and how fast it is.

"Armed" is a fact: the file was opened, the kernels ran, the memory sufficed.
"""

from __future__ import annotations

from collections.abc import Callable

from homeai.domain.errors import HomeAIError, from_code
from homeai.domain.request import Sampling
from homeai.planning.latency import LatencyModel
from homeai.protocol.messages import Done, FromWorker, Refused, Submit
from homeai.protocol.tokens import ids_to_bytes
from homeai.supervisor.diagnosis import Ending
from homeai.supervisor.process import WorkerProcess
from homeai.supervisor.terms import Level

PROMPT_TOKENS, ANSWER_TOKENS = 96, 24
_FIRST_TICKET = 2**41
"""Far above the tickets of requests, so that the two never meet."""
_FIRST_ID = 300
"""Ids from here on are ordinary text in every vocabulary large enough to chat with."""


class Rehearsal:
    """One short answer of the CPU worker, after the GPU worker serves.

    Args:
        cpu: The CPU worker.
        latency: Learns its rates.
        finished: Called once it is known; the CPU worker may rest then.
    """

    def __init__(
        self, cpu: WorkerProcess, latency: LatencyModel, finished: Callable[[], None]
    ) -> None:
        self._cpu, self._latency, self._finished = cpu, latency, finished
        self.began = self.done = False
        self.failure: HomeAIError | None = None

    @property
    def running(self) -> bool:
        """Whether it is under way."""
        return self.began and not self.done

    def begin(self) -> None:
        """Start the CPU worker and let it answer once. Nothing happens the second time."""
        if self.began:
            return
        self.began = True
        self._cpu.want(Level.READY)
        if self._cpu.ready is not None:
            self.cpu_is_ready()

    def cpu_is_ready(self) -> None:
        """The CPU worker is up."""
        ready = self._cpu.ready
        if not self.running or ready is None:
            return
        if ready.embeddings or ready.vocab <= _FIRST_ID + PROMPT_TOKENS:
            self._end(None)
            return
        tokens = min(PROMPT_TOKENS, ready.context_tokens // 2)
        self._cpu.send(
            Submit(
                ticket=_FIRST_TICKET,
                client="rehearsal",
                prompt_ids=ids_to_bytes(range(_FIRST_ID, _FIRST_ID + tokens)),
                max_tokens=min(ANSWER_TOKENS, ready.context_tokens - tokens),
                sampling=Sampling(temperature=0),
            )
        )

    def on_messages(self, messages: list[FromWorker]) -> None:
        """What the CPU worker said."""
        if not self.running:
            return
        for message in messages:
            if isinstance(message, Done) and message.ticket == _FIRST_TICKET:
                self._latency.observe(
                    prompt_tokens=message.prompt_tokens,
                    prefill_s=message.prefill_s,
                    new_tokens=message.completion_tokens - 1,
                    decode_s=message.decode_s,
                )
                self._end(None)
            elif isinstance(message, Refused) and message.ticket == _FIRST_TICKET:
                self._end(from_code(message.code, message.message))

    def on_ending(self, ending: Ending) -> None:
        """The CPU worker ended before it answered."""
        if self.running:
            self._end(from_code(ending.code, ending.sentence))

    def _end(self, failure: HomeAIError | None) -> None:
        self.done, self.failure = True, failure
        self._finished()
