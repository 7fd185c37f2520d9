"""An agent run over scripted answers: turns, results, limits and errors."""

from __future__ import annotations

import time

import pytest

from homeai.agent.effects import EffectDoor
from homeai.agent.loop import Agent, Order
from homeai.agent.tool import Toolbox
from homeai.domain.errors import EffectCommitted, LatencyExceedsDeadline, WorkerFailed
from homeai.domain.request import ChatPrompt, GenerationRequest
from homeai.domain.stream import Failed, FinishReason
from homeai.journal.effects import Kind
from homeai.tools.offer import Choice, Offer, Tool
from tests.fakes.scripted_core import ScriptedCore, answer

ASK = {"role": "user", "content": "Count."}


def call(n: int, name: str = "count") -> str:
    return f'<tool_call>{{"name": "{name}", "arguments": {{"n": {n}}}}}</tool_call>'


class Run:
    """An agent whose model says one script entry a turn: texts, or events."""

    def __init__(self, journal, tools, *script) -> None:
        self.core = ScriptedCore(script=self._next)
        self.script = list(script)
        door = EffectDoor(None if journal is None else journal.effects, lambda _action, _step: None)
        self.tools = tools
        self.agent = Agent(self.core.submit, Toolbox(tools), door, time.monotonic)

    def _next(self, _request):
        said = self.script.pop(0)
        return answer(said) if isinstance(said, str) else said

    async def go(self, *, max_turns=4, run="run_1", **more):
        request = GenerationRequest(
            id="r1",
            client="anna",
            prompt=ChatPrompt([ASK], [tool.described() for tool in self.tools]),
            grammar="root ::= call",
            **more,
        )
        offer = Offer(tuple(Tool(t.name, t.parameters) for t in self.tools), Choice.REQUIRED)
        return await self.agent.run(Order(run, request, offer, max_turns))

    @property
    def requests(self):
        return [generation.request for generation in self.core.generations]


async def test_results_go_back_to_the_model_until_it_answers_in_words(journal, counter):
    run = Run(journal, [counter.tool()], call(1), "First " + call(2), "Done.")

    outcome = await run.go()

    assert (outcome.text, outcome.turns, outcome.reason) == ("Done.", 3, "stop")
    assert counter.calls == [{"n": 1}, {"n": 2}]
    assert [step["result"] for step in outcome.steps] == [{"count": 1}, {"count": 2}]
    roles = [message["role"] for message in run.requests[-1].prompt.messages]
    assert roles == ["user", "assistant", "tool", "assistant", "tool"]
    assert run.requests[-1].prompt.messages[4]["content"] == '{"count": 2}'
    assert [request.id for request in run.requests] == ["r1.turn1", "r1.turn2", "r1.turn3"]


async def test_only_the_first_turn_is_forced(journal, counter):
    run = Run(journal, [counter.tool()], call(1), "Done.")

    await run.go()

    assert [request.grammar for request in run.requests] == ["root ::= call", None]


async def test_in_the_last_turn_no_tool_is_offered(journal, counter):
    run = Run(journal, [counter.tool()], call(1), call(2))

    outcome = await run.go(max_turns=2)

    assert counter.calls == [{"n": 1}]
    assert run.requests[-1].prompt.tools is None
    assert outcome.text == call(2)


async def test_a_call_in_the_only_turn_acts_and_says_why_it_ended(journal, counter):
    outcome = await Run(journal, [counter.tool()], call(1)).go(max_turns=1)

    assert (counter.calls, outcome.reason, outcome.text) == ([{"n": 1}], "max_turns", "")


async def test_a_call_that_was_cut_does_not_act(journal, counter):
    cut = answer(call(1)[:-20], reason=FinishReason.LENGTH)

    outcome = await Run(journal, [counter.tool()], cut).go()

    assert (counter.calls, outcome.reason) == ([], "length")


async def test_the_same_run_again_reuses_what_was_done(journal, counter):
    dies = [Failed(WorkerFailed("The second attempt failed."))]
    with pytest.raises(EffectCommitted) as caught:
        await Run(journal, [counter.tool()], call(1), dies).go()
    assert caught.value.details["cause"] == "worker_failed"
    assert [e["state"] for e in caught.value.details["effects"]] == ["committed"]

    outcome = await Run(journal, [counter.tool()], call(1), "Done.").go()

    assert counter.calls == [{"n": 1}]
    assert outcome.steps[0]["result"] == {"count": 1}
    assert outcome.text == "Done."


async def test_an_error_before_any_effect_is_the_plain_error(journal, counter):
    dies = [Failed(WorkerFailed("It failed."))]

    with pytest.raises(WorkerFailed):
        await Run(journal, [counter.tool()], dies).go()
    with pytest.raises(WorkerFailed):
        await Run(journal, [counter.tool(Kind.PURE)], call(1), dies).go(run="run_2")


async def test_another_run_acts_of_its_own(journal, counter):
    await Run(journal, [counter.tool()], call(1), "Done.").go(run="run_1")
    await Run(journal, [counter.tool()], call(1), "Done.").go(run="run_2")

    assert len(counter.calls) == 2


async def test_a_deadline_counts_for_the_whole_run(journal, counter):
    run = Run(journal, [counter.tool(Kind.PURE)], call(1), "Done.")
    times = iter([0.0, 0.0, 7.0])
    run.agent = Agent(
        run.core.submit,
        Toolbox(run.tools),
        EffectDoor(None, lambda _action, _step: None),
        lambda: next(times),
    )

    with pytest.raises(LatencyExceedsDeadline):
        await run.go(deadline_s=5.0)

    assert [request.deadline_s for request in run.requests] == [5.0]
