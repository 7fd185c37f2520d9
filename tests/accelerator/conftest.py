"""The simulated accelerator and cores that use it."""

from __future__ import annotations

from pathlib import Path

import pytest

from homeai.proof.device.build import build
from homeai.proof.device.control import SimulatedGpu
from tests.fakes.running_core import RunningCore
from tests.guards.programs import require_programs

MIB = 2**20


@pytest.fixture(scope="session")
def plugin(tmp_path_factory) -> Path:
    """The plugin, compiled for the installed engine."""
    require_programs("cc")
    return build(tmp_path_factory.mktemp("simulated-gpu"))


class GpuHouse:
    """A core whose GPU is simulated."""

    def __init__(self, folder: Path, plugin: Path, model: Path, *flags: str) -> None:
        (folder / "device").mkdir(parents=True)
        self.gpu = SimulatedGpu(folder / "device")
        self.environment = self.gpu.environment()
        self.flags = (
            f"gpu.backends={plugin}",
            "limits.context_tokens=1024",
            "fallback.context_tokens=1024",
            "recovery.window_s=1",  # so that many faults in a row do not open the circuit
            "recovery.max_restarts=50",
            "engine.profile=exact",
            *flags,
        )
        self.core = RunningCore(folder / "home", model, *self.flags, environment=self.environment)

    def wait_armed(self) -> dict:
        return self.core.wait_status(
            lambda s: s["state"] == "ready" and s["fallback"]["armed"], timeout=60
        )

    def wait_gpu(self) -> dict:
        return self.core.wait_status(lambda s: s["state"] == "ready", timeout=60)


@pytest.fixture(scope="module")
def house(plugin, starter_model, tmp_path_factory):
    """One core for all tests of a module; each test leaves the GPU well."""
    made = GpuHouse(tmp_path_factory.mktemp("gpu-house"), plugin, starter_model)
    with made.core:
        made.wait_armed()
        yield made
