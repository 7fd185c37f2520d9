"""Scenes with an agent: its tool writes notes, and each note is written once."""

from __future__ import annotations

import threading
import time
from typing import Any

from homeai.proof.house import House
from homeai.proof.verdict import Scene

_RUN: dict[str, Any] = {
    "messages": [{"role": "user", "content": "Write a note about the garden."}],
    "tools": ["write_note"],
    "tool_choice": "write_note",
    "max_turns": 2,
    "max_tokens": 100,
    "temperature": 0,
}
_MOST_S = 60.0
_WITHIN_THE_CALL = 12
"""Computations after which the model is amid writing its call, which has some 30 tokens."""


def before_the_call(house: House, scene: Scene) -> None:
    """An agent; the GPU fails while the model writes the call of its tool."""
    house.break_gpu(after_graphs=_WITHIN_THE_CALL)
    answer = _check(house, scene, "agent-before")
    first = _devices(answer, 0)
    scene.expect("the CPU finished the call", first in (["gpu", "cpu"], ["cpu"]), " → ".join(first))


def after_the_call(house: House, scene: Scene) -> None:
    """An agent; the GPU fails after the tool acted, while the model answers."""
    calm = house.client.run_agent("agent-calm", _RUN)
    first_turn = house.client.record("agent-calm.turn1").get("attempts", [{}])
    breaker = _Breaker(house, int(first_turn[-1].get("tokens", 0)))
    answer = _check(house, scene, "agent-after")
    breaker.join()
    second = _devices(answer, 1)
    scene.expect("the CPU finished the answer", second[-1:] == ["cpu"], " → ".join(second))
    same = answer.get("message") == calm[1].get("message")
    scene.expect("it is the undisturbed answer", same)


class _Breaker(threading.Thread):
    """Breaks the GPU once the tool has acted: a simulated one by counting its computations.

    Args:
        house: Whose GPU.
        tokens: Length of the first turn's answer.
    """

    def __init__(self, house: House, tokens: int) -> None:
        super().__init__(name="breaker")
        self._house, self._before = house, len(house.notes())
        if house.gpu is not None:
            # one computation for the prompt and one a token, then those of the second turn
            house.break_gpu(after_graphs=tokens + 3)
        self.start()

    def run(self) -> None:
        pause, end = threading.Event(), time.monotonic() + _MOST_S
        while self._house.gpu is None and time.monotonic() < end:
            if len(self._house.notes()) > self._before:
                self._house.break_gpu()
                return
            pause.wait(0.01)


def _check(house: House, scene: Scene, name: str) -> dict[str, Any]:
    before = len(house.notes())
    status, answer = house.client.run_agent(name, _RUN)
    again, repeated = house.client.run_agent(name, _RUN)
    written = len(house.notes()) - before
    scene.facts |= {"tool_calls": len(answer.get("steps", ())), "notes_written": written}
    scene.expect("the run is complete", status == 200, status)
    scene.expect("the tool acted once", written == 1, f"{written} notes")
    same = again == status and repeated.get("steps") == answer.get("steps")
    scene.expect("asked again, nothing acts again", same, again)
    scene.expect("the GPU came back by itself", house.wait_well())
    return answer


def _devices(answer: dict[str, Any], turn: int) -> list[str]:
    answers = answer.get("homeai", {}).get("answers", [])
    if len(answers) <= turn:
        return []
    return [attempt["device"] for attempt in answers[turn]["attempts"]]
