"""The controls of a simulated accelerator: its size, its faults, and who else uses it."""

from __future__ import annotations

import os
import uuid
from pathlib import Path

import psutil

FAULTS = ("status_alloc", "status_failed", "abort", "segv", "kill", "exit", "hang")


class SimulatedGpu:
    """One device that all worker processes with its environment share.

    Args:
        folder: Its files; one device a folder.
        total_bytes: Memory of the device.
    """

    def __init__(self, folder: Path, total_bytes: int = 2 * 2**30) -> None:
        self._state, self._ledger = folder / "state", folder / "ledger"
        self._folder = folder
        self._ledger.mkdir(parents=True, exist_ok=True)
        self._values: dict[str, str] = {"total": str(total_bytes), "name": "Simulated accelerator"}
        self._write()

    def environment(self) -> dict[str, str]:
        """Variables by which a worker finds the device."""
        return {"SIMGPU_STATE": os.fspath(self._state), "SIMGPU_LEDGER": os.fspath(self._ledger)}

    def fault(self, kind: str, *, after_graphs: int = 1, always: bool = False) -> None:
        """Fail at a graph from now on: once, or whenever a process comes that far.

        Args:
            kind: One of `FAULTS`.
            after_graphs: 1 = at the next graph.
            always: Later processes fail as well.

        Raises:
            ValueError: Another kind.
        """
        if kind not in FAULTS:
            msg = f"fault {kind!r} is unknown; there are {', '.join(FAULTS)}"
            raise ValueError(msg)
        self._values.pop("once", None)
        self._values["fault"] = f"{kind} {after_graphs}"
        if not always:
            self._values["once"] = os.fspath(self._folder / f"fired-{uuid.uuid4().hex}")
        self._write()

    def heal(self) -> None:
        """No more faults and refusals; memory that others took stays taken."""
        for name in ("fault", "once", "alloc_fail", "compute_ms"):
            self._values.pop(name, None)
        self._write()

    def refuse(self, from_bytes: int) -> None:
        """Refuse every allocation of so many bytes or more."""
        self._values["alloc_fail"] = str(from_bytes)
        self._write()

    def slow_down(self, graph_ms: int) -> None:
        """Each graph takes longer by so many milliseconds."""
        self._values["compute_ms"] = str(graph_ms)
        self._write()

    def taken_by_others(self, size_bytes: int) -> None:
        """Another program uses so much of the device's memory."""
        self._values["other"] = str(size_bytes)
        self._write()

    def unplug(self) -> None:
        """No device is there for processes that start from now on."""
        self._values["devices"] = "0"
        self._write()

    def used_bytes(self) -> dict[int, int]:
        """Bytes that each living process holds."""
        used = {}
        for file in self._ledger.iterdir():
            if file.name.isdecimal() and psutil.pid_exists(int(file.name)):
                used[int(file.name)] = int(file.read_text(encoding="ascii").split()[0] or 0)
        return used

    def _write(self) -> None:
        text = "".join(f"{name} {value}\n" for name, value in self._values.items())
        new = self._folder / "state.new"
        new.write_text(text, encoding="utf-8")
        new.replace(self._state)  # a worker reads the old or the new one, never half of it
