"""Tells streams that would stay open for ever that the service stops."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

from homeai.domain.errors import ShuttingDown


class Closing:
    """Ends event streams when the service stops. Answers end by themselves, as the router drains.

    Attributes:
        begun: Whether the service stops.
    """

    def __init__(self) -> None:
        self.begun = False
        self._open: set[Callable[[], object]] = set()

    @contextlib.contextmanager
    def ends(self, end: Callable[[], object]) -> Iterator[None]:
        """Have `end` called when the service stops, at once if it does already."""
        self._open.add(end)
        try:
            if self.begun:
                end()
            yield
        finally:
            self._open.discard(end)

    def begin(self) -> None:
        """The service stops. Safe to call twice."""
        self.begun = True
        for end in list(self._open):
            end()

    @staticmethod
    def error() -> ShuttingDown:
        """What open streams are told."""
        return ShuttingDown("The service is stopping.", retry_after_s=5)
