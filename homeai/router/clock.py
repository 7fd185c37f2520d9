"""The clock of the router: the event loop's, so that timers and times agree."""

from __future__ import annotations

import asyncio


def now() -> float:
    """Seconds on the event loop's clock; only differences mean something."""
    return asyncio.get_running_loop().time()
