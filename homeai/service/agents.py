"""Builds what carries out agent runs."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from homeai.agent.effects import Action, Book, EffectDoor, Step
from homeai.agent.house_tools import house_tools
from homeai.agent.loop import Agent, Answering
from homeai.domain.events import ToolStepped
from homeai.domain.request import GenerationRequest
from homeai.router.events import EventRing


def agent_of_house(
    submit: Callable[[GenerationRequest], Answering],
    book: Book | None,
    events: EventRing,
    notes: Path,
) -> Agent:
    """Return the agent of a house.

    Args:
        submit: Takes a turn in.
        book: Where effects are written; None = nowhere.
        events: Hears of each step of a tool.
        notes: Folder of the notebooks.
    """

    def tell(action: Action, step: Step) -> None:
        events.append(
            ToolStepped(
                request_id=action.run, call_id=action.call_id, tool=action.tool.name, step=step
            )
        )

    return Agent(submit, house_tools(notes), EffectDoor(book, tell), time.monotonic)
