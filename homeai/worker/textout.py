"""From token bytes to text that is safe to show.

Bytes of an unfinished character are held back, and so is the beginning of a possible stop string. The
result depends only on the sequence of bytes, not on how it was cut: a resumed answer rebuilds the same
state by replaying its tokens.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterable, Sequence


class TextOut:
    """Text assembly of one answer.

    Args:
        stops: Non-empty stop strings. The one that is complete first in the text wins, the longest if
            several end together; it and what follows are not shown.

    Attributes:
        stopped: Whether a stop string was found.
    """

    def __init__(self, stops: Sequence[str] = ()) -> None:
        if not all(stops):
            raise ValueError("a stop string must not be empty")
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._stops = tuple(stops)
        self._held = ""
        self.stopped = False

    def push(self, data: bytes, *, final: bool = False) -> str:
        """Take the bytes of the next token and return the text that became safe.

        Args:
            data: May be empty, and may end inside a character.
            final: Nothing follows; held-back text is given out.
        """
        if self.stopped:
            return ""
        text = self._held + self._decoder.decode(data, final)
        if not self._stops:
            return text
        hits = [(at + len(stop), at) for stop in self._stops if (at := text.find(stop)) >= 0]
        if hits:
            self.stopped = True
            self._held = ""
            return text[: min(hits)[1]]
        cut = len(text) if final else len(text) - self._possible_stop(text)
        self._held = text[cut:]
        return text[:cut]

    def _possible_stop(self, text: str) -> int:
        """Length of the longest suffix that a stop string begins with."""
        longest = 0
        for stop in self._stops:
            for size in range(min(len(stop) - 1, len(text)), longest, -1):
                if text.endswith(stop[:size]):
                    longest = size
                    break
        return longest

    def replay(self, pieces: Iterable[bytes], already_sent: int) -> str:
        """Rebuild the state from accepted tokens; return the text that was not sent yet.

        Args:
            pieces: Bytes of each accepted token.
            already_sent: Characters that had reached the client.
        """
        return "".join(self.push(piece) for piece in pieces)[already_sent:]
