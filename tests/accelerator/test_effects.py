"""Crashes around the action of a tool: on either worker and on the core, it acts at most once.

The default run tries every step with every victim once; HOMEAI_EFFECT_RUNS=200 goes on to that number.
"""

from __future__ import annotations

import http.client
import itertools
import os
from pathlib import Path

import pytest

from homeai.proof.device.control import SimulatedGpu
from tests.fakes.running_core import RunningCore

STEPS = ("asked", "intended", "acted", "committed", "result")
VICTIMS = ("gpu", "cpu", "core")
CASES = list(itertools.product(VICTIMS, STEPS))
RUNS = max(int(os.environ.get("HOMEAI_EFFECT_RUNS", "0")), len(CASES))
PROGRAM = (str(Path(__file__).parents[1] / "fakes" / "crashing_core.py"),)


class Notes:
    """A house whose model writes notes, and which can be restarted."""

    def __init__(self, folder: Path, plugin: Path, model: Path) -> None:
        (folder / "device").mkdir()
        self._gpu = SimulatedGpu(folder / "device")
        self._crash, self._home, self._model = folder / "crash", folder / "home", model
        self._flags = (
            f"gpu.backends={plugin}",
            "limits.context_tokens=1024",
            "fallback.context_tokens=1024",
            "fallback.notice_s=0",
            "recovery.window_s=1",
            "recovery.max_restarts=100",
            "engine.profile=exact",
        )
        self.core = self._start()

    def _start(self) -> RunningCore:
        environment = {**self._gpu.environment(), "CRASH_AT": str(self._crash)}
        environment["PYTHONPATH"] = str(Path(__file__).parents[2])
        core = RunningCore(
            self._home, self._model, *self._flags, environment=environment, program=PROGRAM
        )
        return core.wait_ready()

    def restart(self) -> None:
        self.core.stop()
        self.core = self._start()

    def crash_at(self, step: str, victim: str) -> None:
        self._crash.write_text(f"{step} {victim}")

    @property
    def crashed(self) -> bool:
        return not self._crash.exists()

    def written(self) -> list[str]:
        file = self._home / "data" / "notes" / "local.txt"
        return file.read_text().splitlines() if file.exists() else []

    def ask(self, key: str, seed: int) -> tuple[int, dict]:
        body = {
            "messages": [{"role": "user", "content": "Write a note about the garden."}],
            "tools": ["write_note"],
            "tool_choice": "write_note",
            "max_turns": 2,
            "max_tokens": 120,
            "seed": seed,
        }
        headers = {"Idempotency-Key": key}
        status, _, answer = self.core.request("POST", "/homeai/v1/agent", body, headers)
        return status, answer


@pytest.fixture
def notes(plugin, starter_model, tmp_path):
    made = Notes(tmp_path, plugin, starter_model)
    yield made
    made.core.stop()


@pytest.mark.timeout(3600)
def test_a_tool_acts_at_most_once_wherever_a_crash_falls(notes):
    for number in range(RUNS):
        victim, step = CASES[number % len(CASES)]
        check(notes, f"run-{number}", seed=number, victim=victim, step=step)


def check(notes: Notes, key: str, *, seed: int, victim: str, step: str) -> None:
    mode = "cpu" if victim == "cpu" else "auto"
    assert notes.core.request("PUT", "/homeai/v1/route", {"mode": mode})[0] == 200
    usual = 1 if victim == "cpu" else 0
    notes.core.wait_status(
        lambda s: s["state"] == "ready" and s["workers"][usual]["state"] == "ready"
    )
    before = len(notes.written())
    notes.crash_at(step, victim)
    try:
        status, answer = notes.ask(key, seed)
    except (http.client.HTTPException, OSError):
        assert victim == "core"
        notes.restart()
        status, answer = notes.ask(key, seed)
    assert notes.crashed
    new = notes.written()[before:]

    what = f"{victim} at {step}: {status} {answer}"
    if victim == "core" and step in ("intended", "acted"):
        assert status == 503, what
        assert answer["error"]["code"] == "effect_committed", what
        (effect,) = answer["error"]["homeai"]["effects"]
        assert (effect["tool"], effect["state"]) == ("write_note", "unknown"), what
        assert len(new) == (step == "acted"), what
    else:
        assert status == 200, what
        assert len(new) == 1, what
        (done,) = answer["steps"]
        assert new[0].endswith(done["result"]["written"]), what
    again, repeated = notes.ask(key, seed)
    assert len(notes.written()) == before + len(new), what
    assert (again, repeated.get("steps")) == (status, answer.get("steps")), what
