"""What happens to requests when a worker ends under them, or cannot take them: asks, retries, refuses."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Protocol

from homeai.domain import events as happened
from homeai.domain.errors import BadRequest, HomeAIError, PoisonRequest
from homeai.domain.request import GenerationRequest
from homeai.domain.states import RequestState
from homeai.domain.stream import Notice
from homeai.planning.latency import Estimate
from homeai.router import dispatch
from homeai.router.clock import now
from homeai.router.dispatch import CPU, GPU, Ask, Fallback, Interrupted, Refuse, To
from homeai.router.events import EventRing
from homeai.router.generation import Generation
from homeai.router.lane import Lane
from homeai.router.line import Line
from homeai.router.parties import Policy
from homeai.router.quarantine import Quarantine
from homeai.supervisor.diagnosis import Ending

CHOICES = ("retry_cpu", "wait_gpu", "cancel")
_DESKTOP = "desktop"


class _House(Protocol):
    """What the router does for us."""

    def fail(self, generation: Generation, error: HomeAIError) -> None: ...
    def cancel(self, request_id: str) -> bool: ...
    def work(self) -> None: ...


class Failover:
    """Carries out what `dispatch` decides.

    Args:
        house: The router.
        lanes: The workers.
        line: Who waits.
        policy: Limits in force.
        log: Typed events go there.

    Attributes:
        quarantine: Requests that are not tried again.
    """

    def __init__(
        self,
        house: _House,
        lanes: Mapping[str, Lane],
        line: Line,
        policy: Callable[[], Policy],
        log: EventRing,
    ) -> None:
        self._house, self._lanes, self._line = house, lanes, line
        self._policy, self._log = policy, log
        self._held: OrderedDict[str, Generation] = OrderedDict()
        self.quarantine = Quarantine()

    @property
    def held(self) -> list[Generation]:
        """Requests that wait for a choice or for the end of a notice."""
        return list(self._held.values())

    def get(self, request_id: str) -> Generation | None:
        """The held request of that id."""
        return self._held.get(request_id)

    def leave(self, generation: Generation) -> None:
        """Forget a request that ended; nothing happens if it is not held."""
        if self._held.get(generation.request_id) is generation:
            del self._held[generation.request_id]

    # ---- a worker ended ---------------------------------------------------------------------------

    def interrupted(self, generations: list[Generation], lane: Lane, ending: Ending) -> None:
        """Decide for each request that ran on a worker that ended, in the order of arrival.

        Each is priced behind those before it, so that the hopeless hear of it at once.
        """
        ahead_ms, again = 0.0, []
        for ahead, generation in enumerate(sorted(generations, key=lambda g: g.arrived)):
            estimate = self.estimate(generation, ahead_ms=ahead_ms)
            verdict = self._verdict(generation, lane, ending, estimate, ahead)
            generation.suspect = ending.by_signal
            match verdict:
                case Refuse(error):
                    if isinstance(error, PoisonRequest):
                        self.quarantine.add(generation.request)
                    self._house.fail(generation, error)
                    continue
                case Ask(reason):
                    generation.move(RequestState.FAILING_OVER)
                    self._tell(generation, lane.name, reason, estimate, "ask")
                    self._held[generation.request_id] = generation
                case To(target, reason):
                    generation.move(RequestState.FAILING_OVER)
                    generation.lane = target
                    generation.reason = generation.reason if lane.name == target else reason
                    self._tell(generation, lane.name, ending.reason, estimate, "retry")
                    if not self._shows_notice(generation, lane):
                        again.append(generation)
            if estimate is not None:
                ahead_ms = estimate.p50_ms
        for generation in reversed(again):
            self._line.join(generation, first=True)

    def _verdict(
        self,
        generation: Generation,
        lane: Lane,
        ending: Ending,
        estimate: Estimate | None,
        ahead: int,
    ) -> dispatch.Verdict:
        policy = self._policy()
        passed_s = now() - generation.arrived
        job = Interrupted(
            lane=lane.name,
            attempts=len(generation.attempts),
            delivered=generation.delivered,
            suspect=generation.suspect,
            left_s=generation.deadline_s(policy.deadline_s) - passed_s,
            ahead=ahead,
        )
        return dispatch.after_failure(
            job,
            ending,
            fallback=self.fallback(generation.request),
            may_resume=policy.resume,
            cpu=self.cpu_view(),
            estimate=estimate,
        )

    def _shows_notice(self, generation: Generation, lane: Lane) -> bool:
        """Hold a request of the desktop for a moment, so that its user can choose."""
        notice_s = self._policy().notice_s
        if notice_s <= 0 or lane.name != GPU or generation.request.client != _DESKTOP:
            return False
        self._held[generation.request_id] = generation
        loop = asyncio.get_running_loop()
        loop.call_later(notice_s, self._notice_ends, generation)
        return True

    def _notice_ends(self, generation: Generation) -> None:
        if self._held.get(generation.request_id) is generation:
            self._release(generation, generation.lane)

    def _tell(
        self,
        generation: Generation,
        worker: str,
        reason: str,
        estimate: Estimate | None,
        verdict: str,
    ) -> None:
        """Tell of the degradation before anything is retried."""
        body = None if estimate is None else estimate.body()
        generation.estimate = estimate
        generation.promised_at = now()
        facts: dict[str, object] = {
            "reason": reason,
            "failed": worker,
            "device": CPU,
            "estimate_ms": body,
        }
        if verdict == "ask":
            facts["choices"] = list(CHOICES)
        generation.emit(Notice("degraded", facts))
        self._log.append(
            happened.RequestFailingOver(
                request_id=generation.request_id,
                worker=worker,
                reason=reason,
                delivered_tokens=generation.delivered,
                verdict=verdict,
                estimate_ms=body,
            )
        )

    # ---- requests that come while the GPU is away -------------------------------------------------

    def hold(self, generation: Generation, reason: str) -> None:
        """A new request waits for a choice."""
        generation.lane, generation.reason = GPU, reason
        self._held[generation.request_id] = generation
        self._tell(generation, GPU, reason, self.estimate(generation), "ask")

    def choose(self, request_id: str, choice: str) -> bool:
        """Carry out somebody's choice; False if that request does not wait for one.

        Raises:
            BadRequest: An unknown choice.
        """
        if choice not in CHOICES:
            text = f"choice: {choice[:40]!r} is unknown; allowed are {', '.join(CHOICES)}."
            raise BadRequest(text, param="choice")
        generation = self._held.get(request_id)
        if generation is None:
            return False
        if choice == "cancel":
            return self._house.cancel(request_id)
        error = self.cpu_view().error if choice == "retry_cpu" else None
        if error is not None:
            self._house.fail(generation, error)
        else:
            self._release(generation, CPU if choice == "retry_cpu" else GPU)
        return True

    def gpu_is_back(self) -> None:
        """Whoever waits for a choice, or for the CPU without having begun there, goes to the GPU.

        Not those whose notice runs, for they are on their way to the CPU; and not suspects, which could
        end the GPU's worker again.
        """
        for generation in self.held:
            if generation.lane != GPU or generation.suspect:
                continue
            generation.reason = None if not generation.attempts else generation.reason
            self._release(generation, GPU)
        for generation in self._line.order(CPU):
            if generation.reason != "exceeds_gpu_profile" and not generation.attempts:
                generation.lane, generation.reason, generation.estimate = GPU, None, None
        self._line.tell_positions()

    def gpu_is_gone(self, reason: str | None) -> None:
        """Nobody waits for the GPU any more: whoever is held goes to the CPU, or hears why it cannot.

        Args:
            reason: Why the CPU answers; None = it is the usual worker now.
        """
        for generation in self.held:
            error = self.cpu_view().error
            if error is not None:
                self._house.fail(generation, error)
                continue
            if not generation.attempts:
                generation.reason = reason
            self._release(generation, CPU)

    def _release(self, generation: Generation, lane: str) -> None:
        del self._held[generation.request_id]
        if lane == GPU:
            generation.estimate = None  # it was told of the CPU
        elif generation.lane == GPU:
            generation.promised_at = now()  # while somebody thought about it, nothing was computed
        generation.lane = lane
        self._line.join(generation, first=True)
        self._house.work()

    # ---- facts ------------------------------------------------------------------------------------

    def fallback(self, request: GenerationRequest) -> Fallback:
        """What counts for this request; its own wish may be stricter than the owner's, not laxer."""
        owner = self._policy().fallback
        if owner is Fallback.NEVER or request.fallback is None:
            return owner
        return Fallback(request.fallback)

    def cpu_view(self) -> dispatch.LaneView:
        """The CPU worker, with why it could not take over."""
        view = self._lanes[CPU].view()
        planned = self._policy().cpu_error
        if view.error is None and planned is not None:
            return dispatch.LaneView(view.state, view.reason, planned)
        return view

    def estimate(self, generation: Generation, *, ahead_ms: float = 0.0) -> Estimate | None:
        """How long the CPU would take for a request."""
        if generation.prompt_ids is None:
            return None
        most = generation.request.max_tokens
        return self._lanes[CPU].latency.estimate(
            prompt_tokens=generation.prompt_tokens,
            allowed_tokens=most,
            drawn=max(map(len, generation.accepted), default=0),
            ahead_ms=ahead_ms,
        )
