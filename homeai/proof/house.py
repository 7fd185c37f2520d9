"""A core of its own for the proof, with a GPU that can be made to fail: simulated, real, or none."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import threading
import time
from collections.abc import Mapping
from pathlib import Path

import psutil

from homeai.proof.client import Client
from homeai.proof.device.control import SimulatedGpu
from homeai.settings.program import own_program

START_S = 120.0
SETTINGS = {
    "limits.context_tokens": "1024",
    "limits.concurrency": "2",
    "fallback.context_tokens": "1024",
    "fallback.concurrency": "2",
    "engine.profile": "exact",
    "recovery.window_s": "1",  # the proof's own faults must not open the circuit
    "recovery.max_restarts": "50",
    "memory.ram_reserve_min_mib": "256",
    "memory.ram_reserve_percent": "1",
}


class HouseFailed(Exception):
    """The core did not start; the message says what it said."""


class House:
    """A running core.

    Args:
        folder: Its home; must be empty.
        model: The model file.
        plugin: The simulated accelerator; None = whatever GPU the engine has.
        settings: Beside `SETTINGS`.

    Attributes:
        gpu: Controls of the simulated GPU; None if it is not simulated.
        client: Asks it.
    """

    def __init__(
        self, folder: Path, model: Path, plugin: Path | None, settings: Mapping[str, str]
    ) -> None:
        values = {**SETTINGS, **settings}
        self._home = folder / "home"
        environment = {**os.environ, "HOMEAI_HOME": os.fspath(self._home)}
        self.gpu: SimulatedGpu | None = None
        if plugin is not None:
            self.gpu = SimulatedGpu(folder / "device")
            environment |= self.gpu.environment()
            values["gpu.backends"] = os.fspath(plugin)
        self._ready, self._said = folder / "ready.json", folder / "said"
        self._process = self._start(model, values, environment)
        self._wait_ready()
        facts = json.loads(self._ready.read_text(encoding="utf-8"))
        self.client = Client(int(facts["url"].rpartition(":")[2]))

    def _start(
        self, model: Path, values: Mapping[str, str], environment: Mapping[str, str]
    ) -> subprocess.Popen[bytes]:
        options = ["serve", "--port", "0", "--ready-file", os.fspath(self._ready)]
        options += ["--model", os.fspath(model), "--exit-with-parent"]
        for name, value in values.items():
            options += ["--set", f"{name}={value}"]
        with self._said.open("wb") as said:
            return subprocess.Popen(  # noqa: S603 -- our own program
                [*own_program(), *options],
                env=dict(environment),
                stdin=subprocess.PIPE,
                stdout=said,
                stderr=subprocess.STDOUT,
            )

    def _wait_ready(self) -> None:
        pause, end = threading.Event(), time.monotonic() + START_S
        while not self._ready.exists():
            if self._process.poll() is not None or time.monotonic() > end:
                self.close()
                said = self._said.read_text(encoding="utf-8", errors="replace").strip()
                raise HouseFailed(said or "The core did not start.")
            pause.wait(0.05)

    @property
    def has_gpu(self) -> bool:
        """Whether there is a second worker to fail over from."""
        return len(self.client.status()["workers"]) > 1

    def wait_well(self) -> bool:
        """Wait until the usual worker serves; False if it does not in time."""
        return self.client.wait(lambda status: status["state"] == "ready")

    def wait_armed(self) -> bool:
        """Wait until it is known whether the CPU could take over; returns whether it could."""
        return self.client.wait(lambda s: s["state"] == "ready" and s["fallback"]["armed"])

    def break_gpu(self, *, after_graphs: int = 1, kind: str = "abort") -> None:
        """Make the usual worker fail: at a computation from now on, or, on a real GPU, at once."""
        if self.gpu is not None:
            self.gpu.fault(kind, after_graphs=after_graphs)
            return
        self.kill_worker(0, signal.SIGKILL if os.name == "posix" else signal.SIGTERM)

    def kill_worker(self, index: int, number: int) -> bool:
        """Send a signal to a worker; False if it has no process now."""
        pid = self.client.status()["workers"][index]["pid"]
        if pid is None:
            return False
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)
        return True

    def notes(self) -> list[str]:
        """What tools wrote into the notebook of this computer's programs."""
        file = self._home / "data" / "notes" / "local.txt"
        return file.read_text(encoding="utf-8").splitlines() if file.exists() else []

    def close(self) -> list[int]:
        """End it; returns the ids of worker processes that outlived it, which must be none."""
        children: list[psutil.Process] = []
        with contextlib.suppress(psutil.Error):
            children = psutil.Process(self._process.pid).children(recursive=True)
        if self._process.stdin is not None:
            self._process.stdin.close()
        self._process.terminate()
        try:
            self._process.wait(20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        _, alive = psutil.wait_procs(children, timeout=5)
        for child in alive:
            child.kill()
        return [child.pid for child in alive]
