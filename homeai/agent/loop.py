"""The loop of an agent run: the model answers, tools it called act, their results go back to it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import msgspec

from homeai.agent.effects import Action, EffectDoor
from homeai.agent.tool import Toolbox
from homeai.domain.errors import Cancelled, EffectCommitted, HomeAIError, LatencyExceedsDeadline
from homeai.domain.request import ChatPrompt, GenerationRequest
from homeai.domain.stream import Delta, Failed, Finished, FinishReason, StreamEvent
from homeai.tools.offer import Choice, Offer, ToolCall, call_id
from homeai.tools.reader import CallReader


class Answering(Protocol):
    """A request under way."""

    async def next_events(self, timeout_s: float | None = None) -> list[StreamEvent]:
        """News, in order."""
        ...

    def cancel(self) -> None:
        """Nobody wants it any more."""
        ...


@dataclass(frozen=True, slots=True)
class Order:
    """What a run is to do.

    Attributes:
        run: Id of the run; the same when its client asks for it again.
        request: The first turn; later ones are made from it. Its prompt is a `ChatPrompt`, n is 1.
        offer: Tools and how free the model is in the first turn.
        max_turns: Most answers of the model.
    """

    run: str
    request: GenerationRequest
    offer: Offer
    max_turns: int


@dataclass
class Outcome:
    """What came of a run.

    Attributes:
        text: The last answer's words.
        steps: What was called and what came of it, in order.
        turns: Answers of the model.
        finished: End of each answer, in order; the last one tells where it came from.
        reason: Why it ended: `stop` | `length` | `max_turns`.
    """

    text: str = ""
    steps: list[dict[str, Any]] = field(default_factory=list)
    turns: int = 0
    finished: list[Finished] = field(default_factory=list)
    reason: str = "stop"


class Agent:
    """Carries out runs.

    Args:
        submit: Takes a turn in, as any request.
        box: Tools that can be called.
        door: Through which they act.
        clock: Seconds, for the deadline of the whole run.

    Attributes:
        box: As given.
    """

    def __init__(
        self,
        submit: Callable[[GenerationRequest], Answering],
        box: Toolbox,
        door: EffectDoor,
        clock: Callable[[], float],
    ) -> None:
        self._submit, self.box, self._door, self._clock = submit, box, door, clock

    async def run(self, order: Order) -> Outcome:
        """Return what came of a run.

        Cancelling ends it after what a tool is doing at that moment.

        Raises:
            EffectCommitted: It ended early after a tool had acted; the effects are listed.
            HomeAIError: It ended early, and nothing was done that must not be done twice.
        """
        outcome = Outcome()
        try:
            await self._turns(order, outcome)
        except EffectCommitted:
            raise
        except HomeAIError as error:
            effects = await self._door.done(order.run)
            if not effects or isinstance(error, Cancelled):
                raise
            text = f"The run ended after a tool had acted: {error.message}"
            details: dict[str, object] = {"effects": effects, "cause": error.code}
            raise EffectCommitted(text, details=details) from error
        return outcome

    async def settle(self) -> None:
        """Wait for what tools are doing although nobody waits for it any more."""
        await self._door.settle()

    async def _turns(self, order: Order, outcome: Outcome) -> None:
        began = self._clock()
        messages: list[dict[str, Any]] = list(_chat(order.request).messages)
        offer: Offer | None = order.offer
        while True:
            last_turn = outcome.turns + 1 >= order.max_turns
            if last_turn and outcome.turns:
                offer = None  # time for words
            request = self._turn(order, outcome.turns, messages, offer, self._clock() - began)
            outcome.turns += 1
            text, calls, finished = await self._answer(request, offer)
            outcome.text = text
            outcome.finished.append(finished)
            if finished.reason is FinishReason.LENGTH:
                outcome.reason = "length"
                return
            if not calls:
                return
            messages.append(await self._call(order, outcome, text, calls))
            messages += [_result(step) for step in outcome.steps[-len(calls) :]]
            if last_turn:
                outcome.reason = "max_turns"
                return
            offer = replace(order.offer, choice=Choice.AUTO)

    def _turn(
        self,
        order: Order,
        turn: int,
        messages: list[dict[str, Any]],
        offer: Offer | None,
        passed_s: float,
    ) -> GenerationRequest:
        """The request of a turn; the first one as it came, with the id of the run's request."""
        first = order.request
        left_s = None if first.deadline_s is None else first.deadline_s - passed_s
        if left_s is not None and left_s <= 0:
            raise LatencyExceedsDeadline("The deadline passed between two turns of the run.")
        return msgspec.structs.replace(
            first,
            id=f"{first.id}.turn{turn + 1}",
            prompt=msgspec.structs.replace(
                _chat(first),
                messages=messages.copy(),
                tools=None if offer is None else _chat(first).tools,
            ),
            grammar=first.grammar if turn == 0 else None,
            deadline_s=left_s,
        )

    async def _answer(
        self, request: GenerationRequest, offer: Offer | None
    ) -> tuple[str, list[ToolCall], Finished]:
        generation = self._submit(request)
        reader = None if offer is None else CallReader(offer)
        items: list[str | ToolCall] = []
        try:
            while True:
                for event in await generation.next_events():
                    match event:
                        case Delta():
                            items += [event.text] if reader is None else reader.push(event.text)
                        case Failed():
                            raise event.error
                        case Finished():
                            if reader is not None:
                                cut = event.reason is not FinishReason.STOP
                                items += reader.finish(cut=cut)
                            text = "".join(item for item in items if isinstance(item, str))
                            return text, [i for i in items if isinstance(i, ToolCall)], event
                        case _:
                            pass
        finally:
            generation.cancel()  # no-op once it has ended

    async def _call(
        self, order: Order, outcome: Outcome, text: str, calls: list[ToolCall]
    ) -> dict[str, Any]:
        """Let tools act, in order; returns the assistant's message with their calls."""
        written = []
        for call in calls:
            name = call_id(order.run, 0, len(outcome.steps))
            arguments = json.loads(call.arguments)
            tool = self.box.get(call.name)
            if tool is None:  # the offer was made from this box
                msg = f"tool {call.name} was offered and is not there"
                raise RuntimeError(msg)
            action = Action(order.run, name, tool, arguments, order.request.client)
            result = await self._door.act(action)
            outcome.steps.append(
                {
                    "turn": outcome.turns,
                    "call_id": name,
                    "tool": call.name,
                    "arguments": arguments,
                    "result": json.loads(result),
                }
            )
            function = {"name": call.name, "arguments": arguments}
            written.append({"id": name, "type": "function", "function": function})
        return {"role": "assistant", "content": text, "tool_calls": written}


def _chat(request: GenerationRequest) -> ChatPrompt:
    if not isinstance(request.prompt, ChatPrompt):
        raise TypeError("an agent run needs a chat prompt")
    return request.prompt


def _result(step: dict[str, Any]) -> dict[str, Any]:
    content = step["result"] if isinstance(step["result"], str) else _json(step["result"])
    return {
        "role": "tool",
        "tool_call_id": step["call_id"],
        "name": step["tool"],
        "content": content,
    }


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
