"""One worker as the router sees it: what it works on, whether it serves, how fast it is."""

from __future__ import annotations

from homeai.domain.request import Sampling, TextPrompt
from homeai.planning.latency import LatencyModel
from homeai.protocol.messages import Submit
from homeai.router.dispatch import LaneState, LaneView
from homeai.router.generation import Generation
from homeai.router.parties import Worker

_CANARY_PROMPT = "One, two, three, four,"
_CANARY_TOKENS = 4


class Lane:
    """A worker, its open tickets, and its proof of health.

    Args:
        worker: The process.
        proves: Whether it gets requests only after good canary decodes.

    Attributes:
        open: Ticket → request.
        serving: Whether it may get requests.
        reason: Why it does not serve, in one word; None = it never failed, or is well again.
        latency: Its rates.
        context_tokens: What a sequence of it will hold, as planned; `ready` tells more once it is up.
    """

    def __init__(self, worker: Worker, *, proves: bool, context_tokens: int = 0) -> None:
        self.worker, self._proves = worker, proves
        self.open: dict[int, Generation] = {}
        self.serving = False
        self.reason: str | None = None
        self.latency = LatencyModel()
        self.context_tokens = context_tokens
        self._canaries_left = 0
        self._canary_ticket: int | None = None

    @property
    def name(self) -> str:
        """`cpu` | `gpu`."""
        return self.worker.name

    @property
    def free(self) -> int:
        """Sequences that could be given a request now."""
        ready = self.worker.ready
        if ready is None or not self.serving:
            return 0
        return ready.sequences - len(self.open)

    @property
    def context(self) -> int:
        """Tokens that prompt and answer may have together; 0 = not known yet."""
        ready = self.worker.ready
        return self.context_tokens if ready is None else ready.context_tokens

    @property
    def alone(self) -> Generation | None:
        """The suspect that runs by itself, if one does."""
        return next((g for g in self.open.values() if g.suspect), None)

    def view(self) -> LaneView:
        """For a decision."""
        failure = self.worker.failure
        if failure is not None:
            return LaneView(LaneState.BROKEN, self.reason or failure.code, failure)
        if self.serving and self.worker.ready is not None:
            return LaneView(LaneState.SERVING)
        return LaneView(LaneState.COMING, self.reason)

    # ---- health -----------------------------------------------------------------------------------

    def became_ready(self, canaries: int, ticket: int) -> None:
        """The worker is up: it serves at once, or after `canaries` good decodes."""
        ready = self.worker.ready
        if not self._proves or canaries <= 0 or ready is None or ready.embeddings:
            self._serve()
            return
        self.serving = False
        self._canaries_left = canaries
        self._sing(ticket)

    def canary_done(self, ticket: int, next_ticket: int) -> bool:
        """A ticket ended; returns whether it was the last canary and the worker serves now."""
        if ticket != self._canary_ticket:
            return False
        self._canaries_left -= 1
        if self._canaries_left > 0:
            self._sing(next_ticket)
            return False
        self._serve()
        return True

    def is_canary(self, ticket: int) -> bool:
        """Whether the ticket is ours."""
        return ticket == self._canary_ticket

    def suspend(self, reason: str) -> None:
        """No new requests until it proves itself again."""
        self.serving, self.reason = False, reason
        self._canary_ticket = None

    def _serve(self) -> None:
        self.serving, self.reason, self._canary_ticket = True, None, None

    def _sing(self, ticket: int) -> None:
        self._canary_ticket = ticket
        self.worker.send(
            Submit(
                ticket=ticket,
                client="canary",
                prompt=TextPrompt(_CANARY_PROMPT),
                max_tokens=_CANARY_TOKENS,
                sampling=Sampling(temperature=0),
            )
        )
