"""A real core that kills itself, or one of its workers, at a wanted step of a tool.

A file named by `CRASH_AT` says when and whom, as `STEP VICTIM`; it is removed before the blow, so that
it happens once. STEP is one of `homeai.agent.effects.Step`, or `result`: the result goes back to the
model. VICTIM is `core`, or the name of a worker.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

from homeai.cli.main import main
from homeai.domain.events import Event, RequestReceived, ToolStepped, WorkerStateChanged
from homeai.router.events import EventRing

_ORDER = Path(os.environ["CRASH_AT"])
_append = EventRing.append
_pids: dict[str, int] = {"core": os.getpid()}


def _append_and_crash(ring: EventRing, event: Event) -> None:
    _append(ring, event)
    if isinstance(event, WorkerStateChanged) and event.pid is not None:
        _pids[event.worker] = event.pid
    step = None
    if isinstance(event, ToolStepped):
        step = event.step
    elif isinstance(event, RequestReceived) and event.request_id.endswith(".turn2"):
        step = "result"
    if step is None or not _ORDER.exists():
        return
    wanted, victim = _ORDER.read_text().split()
    if step == wanted:
        _ORDER.unlink()
        os.kill(_pids[victim], signal.SIGKILL)


EventRing.append = _append_and_crash
if __name__ == "__main__":
    sys.exit(main())
