"""Runs the scenes, each on a core that is well, and collects what they found."""

from __future__ import annotations

import os
import platform
import signal
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from homeai.hardware import ram
from homeai.proof import agent, scenes
from homeai.proof.device.build import CannotBuild, build
from homeai.proof.house import House, HouseFailed
from homeai.proof.verdict import Report, Scene

Play = Callable[[House, Scene], None]
Say = Callable[[str], None]

_SHARED: tuple[tuple[str, Play], ...] = (
    ("plain", scenes.plain),
    ("stream, before the first token", scenes.stream_before),
    ("stream, amid the answer", scenes.stream_amid),
    ("cancel during failover", scenes.cancelled),
    ("parallel clients", scenes.crowd),
    ("agent, before its tool acts", agent.before_the_call),
    ("agent, after its tool acted", agent.after_the_call),
    ("recovery", scenes.comes_back),
    ("deadline too short", scenes.deadline),
    ("CPU forbidden", scenes.forbidden),
)
_SIMULATED_KINDS = ("status_alloc", "status_failed", "segv", "kill")


class Proof:
    """A run of the proof.

    Args:
        model: The model file to prove it with.
        cache: Folder for the compiled accelerator.
        real_gpu: Whether the engine has an accelerator of its own.
        say: Told of each step.
    """

    def __init__(self, model: Path, cache: Path, *, real_gpu: bool, say: Say) -> None:
        self._model, self._cache, self._real_gpu, self._say = model, cache, real_gpu, say
        self._plugin: Path | None = None

    def run(self, *, full: bool = False) -> Report:
        """Play all scenes.

        Args:
            full: Also every kind of death of the simulated GPU.

        Raises:
            CannotBuild: There is neither a GPU nor a way to simulate one.
            HouseFailed: A core did not start.
        """
        if not self._real_gpu:
            self._plugin = build(self._cache)
        report = Report(self._device(), _machine())
        with tempfile.TemporaryDirectory(prefix="homeai-prove-") as folder:
            self._play_shared(report, Path(folder) / "main", full=full)
            self._play_apart(
                report,
                Path(folder) / "memory",
                "no memory for the CPU",
                scenes.short_of_memory,
                {"memory.ram_reserve_min_mib": str(ram.probe().total_bytes // 2**20)},
            )
            self._play_without_kernels(report, Path(folder) / "kernels")
        return report

    def _device(self) -> str:
        return "the GPU of this machine" if self._plugin is None else "a simulated GPU"

    def _play_shared(self, report: Report, folder: Path, *, full: bool) -> None:
        plays = list(_SHARED)
        if full and self._plugin is not None:
            plays += [(f"death by {kind}", _death(kind)) for kind in _SIMULATED_KINDS]
        house = self._house(folder, {})
        try:
            armed = house.wait_armed()
            for name, play in plays:
                scene = self._play(house, name, play)
                scene.expect("the fallback was armed before the fault", armed)
                report.scenes.append(scene)
        finally:
            orphans = house.close()
        last = report.scenes[-1]
        last.expect("no worker outlived its core", not orphans, orphans)

    def _play(self, house: House, name: str, play: Play) -> Scene:
        scene = Scene(name, (play.__doc__ or "").strip())
        self._say(f"{name}: {scene.title}")
        began = time.perf_counter()
        house.wait_well()
        play(house, scene)
        if house.gpu is not None:
            house.gpu.heal()
        scene.seconds = time.perf_counter() - began
        self._say("  held" if scene.held else "  BROKEN")
        return scene

    def _play_apart(
        self, report: Report, folder: Path, name: str, play: Play, settings: dict[str, str]
    ) -> None:
        house = self._house(folder, settings)
        try:
            report.scenes.append(self._play(house, name, play))
        finally:
            house.close()

    def _play_without_kernels(self, report: Report, folder: Path) -> None:
        """The CPU worker dies of an instruction that this processor does not know."""
        name = "no CPU kernels"
        if os.name != "posix":
            scene = Scene(name, (self._play_without_kernels.__doc__ or "").strip())
            scene.skip("the client hears why", "Signals exist on Unix only.")
            report.scenes.append(scene)
            return

        def play(house: House, scene: Scene) -> None:
            """The CPU worker dies of an instruction that this processor does not know."""
            # during its rehearsal, which is where a real machine would find out
            found = house.client.wait(lambda s: bool(s["workers"][1]["pid"]), most_s=30)
            scene.expect("the CPU worker was tried before any fault", found)
            house.kill_worker(1, signal.SIGILL)
            house.client.wait(lambda s: "another processor" in (s["fallback"]["reason"] or ""))
            fallback = house.client.status()["fallback"]
            scene.expect("it is not armed, and says so", not fallback["armed"], fallback["reason"])
            house.break_gpu()
            seen = house.client.ask("no-kernels", scenes.ASK)
            scene.requests.append(seen)
            code = (seen.error or {}).get("code")
            scene.expect(
                "the client gets `cpu_kernels_missing`", code == "cpu_kernels_missing", code
            )

        self._play_apart(report, folder, name, play, {})

    def _house(self, folder: Path, settings: dict[str, str]) -> House:
        folder.mkdir(parents=True)
        house = House(folder, self._model, self._plugin, settings)
        if not house.has_gpu:
            house.close()
            raise HouseFailed("The engine sees no GPU on this machine.")
        return house


def _death(kind: str) -> Play:
    def play(house: House, scene: Scene) -> None:
        calm = house.client.ask(f"{kind}-calm", scenes.ASK | scenes.STREAM)
        house.break_gpu(after_graphs=10, kind=kind)
        seen = house.client.ask(kind, scenes.ASK | scenes.STREAM)
        scene.requests += [seen]
        scene.expect("the answer is complete", seen.complete)
        scene.expect("it is the undisturbed answer", seen.text == calm.text)
        scene.expect("the GPU came back by itself", house.wait_well())

    play.__doc__ = f"A stream; the GPU ends by {kind}."
    return play


def _machine() -> dict[str, object]:
    return {
        "system": platform.platform(),
        "processor_cores": os.cpu_count(),
        "ram_bytes": ram.probe().total_bytes,
        "python": platform.python_version(),
    }


__all__ = ["CannotBuild", "HouseFailed", "Proof"]
