"""The waiting line: bounded, first come first served within a client, turn by turn between clients. Pure."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator
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

    def add(self, client: str, key: str, entry: T, *, first: bool = False) -> None:
        """Put an entry at the end of its client's line.

        Args:
            client: Whose.
            key: Its name.
            entry: What waits.
            first: At the front instead, and its client's turn is next: it had its turn already.

        Raises:
            ValueError: The key waits already.
        """
        line = self._lines.setdefault(client, OrderedDict())
        if key in line:
            msg = f"{key!r} waits already"
            raise ValueError(msg)
        line[key] = entry
        if first:
            line.move_to_end(key, last=False)
            self._lines.move_to_end(client, last=False)

    def remove(self, client: str, key: str) -> T | None:
        """Take an entry out, wherever it stands; None if it is not there."""
        line = self._lines.get(client)
        if line is None:
            return None
        entry = line.pop(key, None)
        if not line:
            del self._lines[client]
        return entry

    def first(self, where: Callable[[T], bool]) -> T | None:
        """The entry whose turn it is among those that `where` accepts, or None."""
        return next((found[2] for found in self._matching(where)), None)

    def take(self, where: Callable[[T], bool]) -> T:
        """Take that entry; its client goes to the end of the round.

        Raises:
            KeyError: Nobody of that kind waits.
        """
        for client, key, entry in self._matching(where):
            line = self._lines.pop(client)
            del line[key]
            if line:
                self._lines[client] = line
            return entry
        raise KeyError("nobody waits")

    def _matching(self, where: Callable[[T], bool]) -> Iterator[tuple[str, str, T]]:
        """The first acceptable entry of each client, in turn."""
        for client, line in self._lines.items():
            for key, entry in line.items():
                if where(entry):
                    yield client, key, entry
                    break

    def order(self) -> list[T]:
        """All entries in the order in which they would be taken."""
        lines = [list(line.values()) for line in self._lines.values()]
        rounds = max(map(len, lines), default=0)
        return [line[turn] for turn in range(rounds) for line in lines if turn < len(line)]
