"""Guard: code of the core never blocks the event loop it runs on."""

from __future__ import annotations

import inspect
from collections.abc import Iterator

import pytest
from blockbuster import blockbuster_ctx


@pytest.fixture(autouse=True)
def no_blocking_calls(request: pytest.FixtureRequest) -> Iterator[None]:
    """In an async test, a blocking call made by homeai from within the loop raises."""
    if not inspect.iscoroutinefunction(request.function):
        yield
        return
    with blockbuster_ctx(scanned_modules=["homeai"]):
        yield
