"""The waiting line: bounded, first come first served within a client, turn by turn between clients. Pure."""

from __future__ import annotations

from collections import OrderedDict
from typing import Generic, TypeVar

T = TypeVar("T")


class FairQueue(Generic[T]):
    """Waiting entries by client.

    The turn goes round: a client that floods the line delays only itself.
    """

    def __init__(self) -> None:
        self._lines: OrderedDict[str, OrderedDict[str, T]] = OrderedDict()

    def __len__(self) -> int:
        return sum(map(len, self._lines.values()))

    def of_client(self, client: str) -> int:
        """Number of entries of one client."""
        return len(self._lines.get(client, ()))

    def add(self, client: str, key: str, entry: T) -> None:
        """Put an entry at the end of its client's line.

        Raises:
            ValueError: The key waits already.
        """
        line = self._lines.setdefault(client, OrderedDict())
        if key in line:
            msg = f"{key!r} waits already"
            raise ValueError(msg)
        line[key] = entry

    def remove(self, client: str, key: str) -> T | None:
        """Take an entry out, wherever it stands; None if it is not there."""
        line = self._lines.get(client)
        if line is None:
            return None
        entry = line.pop(key, None)
        if not line:
            del self._lines[client]
        return entry

    def first(self) -> T | None:
        """The entry whose turn it is, or None."""
        for line in self._lines.values():
            return next(iter(line.values()))
        return None

    def pop(self) -> T:
        """Take the entry whose turn it is; its client goes to the end of the round.

        Raises:
            KeyError: Nobody waits.
        """
        client = next(iter(self._lines), None)
        if client is None:
            raise KeyError("nobody waits")
        line = self._lines.pop(client)
        _, entry = line.popitem(last=False)
        if line:
            self._lines[client] = line
        return entry

    def order(self) -> list[T]:
        """All entries in the order in which they would be taken."""
        lines = [list(line.values()) for line in self._lines.values()]
        rounds = max(map(len, lines), default=0)
        return [line[turn] for turn in range(rounds) for line in lines if turn < len(line)]
