"""Where requests go: on arrival, once their length is known, and when their worker has ended."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

from homeai.domain.errors import HomeAIError, ShuttingDown, from_code
from homeai.domain.request import GenerationRequest
from homeai.domain.states import RequestState
from homeai.domain.stream import Notice
from homeai.router import admission, dispatch
from homeai.router.answers import PLANNED_REASONS
from homeai.router.clock import now
from homeai.router.dispatch import CPU, GPU, Ask, Fallback, LaneState, Refuse, To
from homeai.router.failover import Failover
from homeai.router.generation import Generation
from homeai.router.lane import Lane
from homeai.router.line import Line
from homeai.router.parties import Policy


class _House(Protocol):
    """What the router does for us."""

    cpu_only: bool
    stopping: bool

    def find(self, request_id: str) -> Generation | None: ...
    def fail(self, generation: Generation, error: HomeAIError) -> None: ...
    def prepare(self, generation: Generation) -> None: ...


class Routing:
    """Carries out the verdicts of `admission` and `dispatch.route`.

    Args:
        house: The router.
        lanes: The workers.
        line: Who waits.
        failover: Holds those who wait for a choice.
        policy: Limits in force.
    """

    def __init__(
        self,
        house: _House,
        lanes: Mapping[str, Lane],
        line: Line,
        failover: Failover,
        policy: Callable[[], Policy],
    ) -> None:
        self._house, self._lanes, self._line = house, lanes, line
        self._failover, self._policy = failover, policy

    def on_arrival(self, request: GenerationRequest) -> dispatch.Verdict:
        """Decide whether a request may come in, and which worker it waits for."""
        error = self._refusal(request)
        if error is not None:
            return Refuse(error)
        verdict = self._route(request)
        if isinstance(verdict, Refuse):
            return verdict
        lane = self._lanes[verdict.lane if isinstance(verdict, To) else CPU]
        failure = lane.worker.failure
        if isinstance(verdict, To) and verdict.lane == CPU and failure is not None:
            return Refuse(failure)
        error = self._line.refusal(request, self._policy(), free=lane.free)
        return verdict if error is None else Refuse(error)

    def _route(self, request: GenerationRequest) -> dispatch.Verdict:
        return dispatch.route(
            cpu_only=self._house.cpu_only,
            fallback=self._failover.fallback(request),
            gpu=self._gpu(),
            cpu=self._failover.cpu_view(),
        )

    def _gpu(self) -> dispatch.LaneView | None:
        return self._lanes[GPU].view() if GPU in self._lanes else None

    def _refusal(self, request: GenerationRequest) -> HomeAIError | None:
        if self._house.stopping:
            return ShuttingDown("The service is stopping.", retry_after_s=5)
        if self._house.find(request.id) is not None:
            return from_code("invalid_request", f"A request with the id {request.id} is under way.")
        return self._failover.quarantine.refusal(request)

    def measured(self, generation: Generation) -> None:
        """The length of a prompt is known: is there room, and time?"""
        if generation.ended or (
            generation.attempts and generation.state is RequestState.FAILING_OVER
        ):
            return
        if not self._lanes[generation.lane].context:
            return  # what fits is known once the worker is up
        length = self._length(generation, self._lanes[generation.lane])
        if isinstance(length, admission.Refuse) and self._may_go_to_cpu(generation):
            generation.lane, generation.reason = CPU, "exceeds_gpu_profile"
            length = self._length(generation, self._lanes[CPU])
            self._line.tell_positions()
        if isinstance(length, admission.Refuse):
            self._house.fail(generation, length.error)
            return
        generation.answer_tokens = length
        if generation.lane == CPU and generation.reason and generation.estimate is None:
            self._promise(generation)

    def _length(self, generation: Generation, lane: Lane) -> int | admission.Refuse:
        return admission.answer_length(
            prompt_tokens=generation.prompt_tokens,
            max_tokens=generation.request.max_tokens,
            context_tokens=lane.context,
        )

    def _may_go_to_cpu(self, generation: Generation) -> bool:
        return (
            generation.lane == GPU
            and not generation.attempts
            and self._failover.fallback(generation.request) is not Fallback.NEVER
            and self._failover.cpu_view().error is None
        )

    def _promise(self, generation: Generation) -> None:
        """Tell how long the CPU will take, before it begins, or refuse what would be too late."""
        estimate = self._failover.estimate(generation)
        if estimate is None:
            return
        generation.estimate, generation.promised_at = estimate, now()
        left_s = generation.deadline_s(self._policy().deadline_s) - now() + generation.arrived
        ahead = generation.position or 0
        gpu = self._gpu()
        late = dispatch.too_late(estimate, left_s=left_s, ahead=ahead)
        if late is not None and generation.reason not in PLANNED_REASONS:
            if gpu is not None and gpu.state is LaneState.COMING:
                generation.lane, generation.reason, generation.estimate = GPU, None, None
                generation.emit(Notice("waiting", {"device": GPU}))
                return
            self._house.fail(generation, late)
            return
        facts = {"reason": generation.reason, "device": CPU, "estimate_ms": estimate.body()}
        if generation.reason in PLANNED_REASONS:
            generation.emit(Notice("estimate", facts))
        else:
            generation.emit(Notice("degraded", {**facts, "failed": GPU}))

    def again(self, generation: Generation) -> None:
        """Route a request that waits for a worker that has ended."""
        if generation.attempts and generation.lane == CPU:
            failure = self._lanes[CPU].worker.failure
            if failure is not None:
                self._house.fail(generation, failure)
            return
        match self._route(generation.request):
            case Refuse(error):
                self._house.fail(generation, error)
            case Ask(reason):
                self._line.leave(generation)
                self._failover.hold(generation, reason)
            case To(lane, reason):
                generation.lane, generation.reason = lane, reason
                failure = self._lanes[lane].worker.failure
                if failure is not None:
                    self._house.fail(generation, failure)
                else:
                    self._house.prepare(generation)
