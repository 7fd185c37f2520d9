"""Hands messages from the reading thread to the engine's thread."""

from __future__ import annotations

import threading
from collections import deque
from typing import Generic, TypeVar

T = TypeVar("T")


class Inbox(Generic[T]):
    """An unbounded queue whose reader takes all there is at once.

    It is bounded by what the core sends: the core never has more tickets open than its own queue allows.
    """

    def __init__(self) -> None:
        self._items: deque[T] = deque()
        self._filled = threading.Condition()
        self._closed = False

    def put(self, item: T) -> None:
        """Add an item and wake the reader."""
        with self._filled:
            self._items.append(item)
            self._filled.notify()

    def close(self) -> None:
        """No more items will come; a waiting reader wakes up."""
        with self._filled:
            self._closed = True
            self._filled.notify_all()

    def take(self, *, wait: bool) -> list[T] | None:
        """Return all items, oldest first; None once the inbox is closed and empty.

        Args:
            wait: Wait for the first item; else the list may be empty.
        """
        with self._filled:
            while wait and not self._items and not self._closed:
                self._filled.wait()
            if not self._items and self._closed:
                return None
            items = list(self._items)
            self._items.clear()
            return items
