"""The door to actions: written down before, committed after, never a second time."""

from __future__ import annotations

import asyncio
import json
import sqlite3

import pytest

from homeai.agent.effects import Action, EffectDoor, Step
from homeai.agent.tool import ToolFailed
from homeai.domain.errors import EffectCommitted, EffectsUnrecorded
from homeai.journal.effects import Kind


def action(tool, n=1, run="run_1", call="call_1"):
    return Action(run, call, tool, {"n": n}, "anna")


def door(journal, steps=None):
    tell = (lambda _action, step: steps.append(step)) if steps is not None else _quiet
    return EffectDoor(None if journal is None else journal.effects, tell)


def _quiet(_action, _step):
    pass


async def test_an_action_goes_through_every_step_in_order(journal, counter):
    steps: list[Step] = []

    result = await door(journal, steps).act(action(counter.tool()))

    assert json.loads(result) == {"count": 1}
    assert steps == [Step.ASKED, Step.INTENDED, Step.ACTED, Step.COMMITTED]
    (effect,) = await journal.effects.of_request("run_1")
    assert (effect.state, effect.tool, effect.result) == ("committed", "count", result)


async def test_the_same_call_again_gets_the_recorded_result(journal, counter):
    first = await door(journal).act(action(counter.tool()))
    steps: list[Step] = []

    again = await door(journal, steps).act(action(counter.tool()))

    assert again == first
    assert len(counter.calls) == 1
    assert steps == [Step.ASKED, Step.REUSED]


@pytest.mark.parametrize(
    ("kind", "acts_again"), [(Kind.PURE, True), (Kind.IDEMPOTENT, True), (Kind.IRREVERSIBLE, False)]
)
async def test_an_unknown_outcome_is_repeated_only_where_that_is_harmless(
    journal, counter, kind, acts_again
):
    asked = action(counter.tool(kind))
    await journal.effects.intend(
        asked.call_id, asked.run, "count", kind, asked.arguments_sha256
    )  # and then the core was killed
    await journal.close_interrupted()

    if acts_again:
        await door(journal).act(asked)
        assert len(counter.calls) == 1
        return
    with pytest.raises(EffectCommitted) as caught:
        await door(journal).act(asked)
    assert counter.calls == []
    assert caught.value.details["effects"] == [
        {"call_id": "call_1", "tool": "count", "state": "unknown"}
    ]


async def test_another_call_at_the_same_place_ends_the_run_after_an_effect(journal, counter):
    await door(journal).act(action(counter.tool(), n=1))

    with pytest.raises(EffectCommitted, match="another way"):
        await door(journal).act(action(counter.tool(), n=2))

    assert counter.calls == [{"n": 1}]


async def test_another_call_at_the_same_place_may_act_if_nothing_was_done(journal, counter):
    look = counter.tool(Kind.PURE, "look")
    await door(journal).act(action(look, n=1))

    await door(journal).act(action(counter.tool(), n=2))

    (effect,) = await journal.effects.of_request("run_1")
    assert (effect.tool, effect.kind, effect.state) == ("count", "irreversible", "committed")


async def test_a_tool_that_did_nothing_says_so_to_the_model(journal, counter):
    counter.error = ToolFailed("The notebook is full.")

    result = await door(journal).act(action(counter.tool()))

    assert json.loads(result) == {"error": "The notebook is full."}
    assert (await journal.effects.find("call_1")).state == "committed"


async def test_a_tool_that_breaks_may_have_acted(journal, counter):
    counter.error = RuntimeError("no idea")

    with pytest.raises(EffectCommitted, match="may have acted"):
        await door(journal).act(action(counter.tool()))
    with pytest.raises(EffectCommitted):
        await door(journal).act(action(counter.tool()))

    assert len(counter.calls) == 1


async def test_a_pure_tool_that_breaks_is_only_an_error_for_the_model(journal, counter):
    counter.error = RuntimeError("no idea")

    result = await door(journal).act(action(counter.tool(Kind.PURE)))

    assert json.loads(result) == {"error": "The tool failed: RuntimeError."}


async def test_what_was_begun_is_written_down_though_nobody_waits(journal, counter):
    counter.hold = asyncio.Event()
    made = door(journal)
    async with asyncio.TaskGroup() as group:
        waiting = group.create_task(made.act(action(counter.tool())))
        await counter.begun.wait()
        waiting.cancel()
    counter.hold.set()

    await made.settle()

    assert (await journal.effects.find("call_1")).state == "committed"


async def test_without_a_journal_only_pure_tools_act(counter):
    assert json.loads(await door(None).act(action(counter.tool(Kind.PURE)))) == {"count": 1}
    with pytest.raises(EffectsUnrecorded):
        await door(None).act(action(counter.tool()))

    assert len(counter.calls) == 1


async def test_a_tool_does_not_act_if_its_intent_cannot_be_written(journal, journal_file, counter):
    db = sqlite3.connect(journal_file)
    db.execute("DROP TABLE effects")
    db.commit()
    db.close()

    with pytest.raises(EffectsUnrecorded):
        await door(journal).act(action(counter.tool()))

    assert counter.calls == []


def test_arguments_are_the_same_whatever_the_order_of_their_keys(counter):
    one = Action("r", "c", counter.tool(), {"a": 1, "b": "ä"}, "anna")
    other = Action("r", "c", counter.tool(), {"b": "ä", "a": 1}, "anna")

    assert one.arguments_sha256 == other.arguments_sha256
