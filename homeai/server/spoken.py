"""What one choice says, as OpenAI's clients see it: texts and whole tool calls."""

from __future__ import annotations

from typing import Any

from homeai.domain.stream import FinishReason
from homeai.tools.offer import Offer, ToolCall, call_id
from homeai.tools.reader import CallReader

Item = str | dict[str, Any]
"""A text, or a call as a stream shows it, with its `index`."""


class Spoken:
    """Tells calls from text in one choice.

    Args:
        offer: What may be called.
        request_id: Of the request; call ids are made from it.
        choice: Index of the choice within its request.

    Attributes:
        calls: Calls given out so far.
    """

    def __init__(self, offer: Offer, request_id: str, choice: int) -> None:
        self._reader = CallReader(offer)
        self._request_id, self._choice = request_id, choice
        self.calls = 0

    def push(self, text: str) -> list[Item]:
        """Take text of the answer; returns what is certain."""
        return [self._item(item) for item in self._reader.push(text)]

    def finish(self, reason: FinishReason) -> list[Item]:
        """The choice has ended; a call that was cut is not given out."""
        cut = reason is not FinishReason.STOP
        return [self._item(item) for item in self._reader.finish(cut=cut)]

    def _item(self, item: str | ToolCall) -> Item:
        if isinstance(item, str):
            return item
        number = self.calls
        self.calls += 1
        return {
            "index": number,
            "id": call_id(self._request_id, self._choice, number),
            "type": "function",
            "function": {"name": item.name, "arguments": item.arguments},
        }


def without_index(call: dict[str, Any]) -> dict[str, Any]:
    """The call as a whole answer shows it."""
    return {key: value for key, value in call.items() if key != "index"}
