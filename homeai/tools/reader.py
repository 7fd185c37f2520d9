"""Reads calls from the text of an answer while it comes, and holds back what may become one.

Known beginnings: `<tool_call>` (Hermes, Qwen; JSON or tags), `[TOOL_CALLS]` (Mistral), `<|python_tag|>`
(Llama 3), and an answer that begins with a JSON object. Only complete calls of offered tools count;
whatever else looks like one is text. The result depends on the text alone, not on how it was cut.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from homeai.tools import forms
from homeai.tools.json_end import JsonEnd
from homeai.tools.offer import Offer, ToolCall

_TAGGED, _LISTED, _PYTHON = "<tool_call>", "[TOOL_CALLS]", "<|python_tag|>"
MARKERS = (_TAGGED, _LISTED, _PYTHON)
_CLOSERS = {_TAGGED: "</tool_call>"}
_FUNCTION, _FUNCTION_END = "<function=", "</function>"
_FIRST_KEYS = ("name", "type", "function", "arguments", "parameters", "id")
_FIRST_KEY = re.compile(r'\{\s*(?:"([^"]{0,40})("?)|$)')
_NAMED = re.compile(r"([A-Za-z0-9_-]{1,64})\s*(?:\[ARGS\])?\s*(?=\{)")
_MAYBE_NAMED = re.compile(r"[A-Za-z0-9_-]{0,64}\s*(?:\[(?:A(?:R(?:G(?:S\]?)?)?)?)?)?\s*")

Out = list[str | ToolCall]


class _More(Exception):
    """What came so far may become a call."""


class CallReader:
    """Reads one answer.

    Args:
        offer: What may be called.

    Attributes:
        calls: Calls so far.
    """

    def __init__(self, offer: Offer) -> None:
        self._offer, self._held = offer, ""
        self._state: Callable[[Out], bool] = self._at_start
        self._marker, self._closer = "", ""
        self._end: JsonEnd | None = None
        self.calls = 0

    def push(self, text: str) -> Out:
        """Take more of the answer; returns texts and calls that are certain, in order."""
        self._held += text
        return self._run()

    def finish(self, *, cut: bool) -> Out:
        """The answer has ended.

        Args:
            cut: By its limit of tokens: then a call that was begun is dropped, never given out by half.
                Else it was no call, and is text.
        """
        if self._state == self._at_start and self._held.strip():
            self._state = self._in_text
        out = self._run()
        while self._state == self._in_call and not cut:
            self._is_text(out)  # and what follows may hold a call
            out += self._run()
        if self._state in (self._in_text, self._at_start) and self._held:
            out.append(self._held)
        self._held = ""
        return _joined(out)

    def _run(self) -> Out:
        out: Out = []
        while self._held and self._state(out):
            pass
        return _joined(out)

    # ---- states: each returns whether it made headway ---------------------------------------------

    def _at_start(self, _out: Out) -> bool:
        bare = self._held.lstrip()
        if not bare:
            return False
        if bare[0] == "{":
            self._held = bare
            self._begin("")
        else:
            self._state = self._in_text
        return True

    def _in_text(self, out: Out) -> bool:
        found = [(at, marker) for marker in MARKERS if (at := self._held.find(marker)) >= 0]
        if not found:
            cut = len(self._held) - _beginning_of_marker(self._held)
            out.append(self._held[:cut])
            self._held = self._held[cut:]
            return False
        at, marker = min(found)
        out.append(self._held[:at])
        self._held = self._held[at:]
        self._begin(marker)
        return True

    def _begin(self, marker: str) -> None:
        self._state, self._marker, self._end = self._in_call, marker, None

    def _in_call(self, out: Out) -> bool:
        try:
            calls, end = self._read_call()
        except _More:
            return False
        if calls is None:
            self._is_text(out)
            return True
        out += calls if self._offer.parallel else calls[: max(1 - self.calls, 0)]
        self.calls += len(calls)
        self._held = self._held[end:]
        self._closer = _CLOSERS.get(self._marker, "")
        self._state = self._after_call if self._offer.parallel else self._over
        return True

    def _is_text(self, out: Out) -> None:
        """No call after all: what looked like the beginning of one is text."""
        size = len(self._marker) or 1
        out.append(self._held[:size])
        self._held = self._held[size:]
        self._state = self._in_text

    def _after_call(self, _out: Out) -> bool:
        rest = self._held.lstrip()
        if not rest:
            return False
        if self._closer and rest.startswith(self._closer):
            self._held, self._closer = rest[len(self._closer) :], ""
            return True
        if self._closer and self._closer.startswith(rest):
            return False
        if self._marker in ("", _PYTHON) and rest[0] in ";,":
            following = rest[1:].lstrip()
            if not following:
                return False
            if following[0] == "{":
                self._held = following
                self._begin("")
                return True
        self._held, self._state = rest, self._in_text
        return True

    def _over(self, _out: Out) -> bool:
        """One call was allowed and given: nothing more is wanted."""
        self._held = ""
        return False

    # ---- a call -----------------------------------------------------------------------------------

    def _read_call(self) -> tuple[list[ToolCall] | None, int]:
        """Return the calls at the beginning of what is held, and where they end; None = it is none.

        Raises:
            _More: That is not certain yet.
        """
        at = _skip_blanks(self._held, len(self._marker))
        if at == len(self._held):
            raise _More
        if self._marker == _TAGGED and self._held[at] == "<":
            return self._read_tags(at)
        if self._held[at] == "{" or (self._marker == _LISTED and self._held[at] == "["):
            return self._read_json(at)
        if self._marker == _LISTED:
            return self._read_named(at)
        return None, 0

    def _read_json(self, at: int) -> tuple[list[ToolCall] | None, int]:
        if not self._marker and not _may_be_call(self._held):
            return None, 0
        end = self._json_end(at)
        return forms.calls_in_json(self._held[at:end], self._offer), end

    def _read_named(self, at: int) -> tuple[list[ToolCall] | None, int]:
        named = _NAMED.match(self._held, at)
        if named is None:
            if _MAYBE_NAMED.fullmatch(self._held, at):
                raise _More
            return None, 0
        end = self._json_end(named.end())
        text = self._held[named.end() : end]
        return forms.call_with_arguments(named[1], text, self._offer), end

    def _read_tags(self, at: int) -> tuple[list[ToolCall] | None, int]:
        if not self._held.startswith(_FUNCTION, at):
            if _FUNCTION.startswith(self._held[at:]):
                raise _More
            return None, 0
        end = self._held.find(_FUNCTION_END, at)
        if end < 0:
            raise _More
        end += len(_FUNCTION_END)
        return forms.call_in_tags(self._held[at:end], self._offer), end

    def _json_end(self, at: int) -> int:
        if self._end is None:
            self._end = JsonEnd(at)
        end = self._end.find(self._held)
        if end is None:
            raise _More
        return end


def _skip_blanks(text: str, at: int) -> int:
    return len(text) - len(text[at:].lstrip())


def _may_be_call(text: str) -> bool:
    """Whether an object that begins so can still be a call, by its first key."""
    found = _FIRST_KEY.match(text)
    if found is None:
        return False
    key, closed = found[1] or "", found[2]
    return key in _FIRST_KEYS if closed else any(known.startswith(key) for known in _FIRST_KEYS)


def _beginning_of_marker(text: str) -> int:
    """Length of the longest end of `text` with which a marker begins."""
    longest = min(max(map(len, MARKERS)) - 1, len(text))
    return next(
        (n for n in range(longest, 0, -1) if any(m.startswith(text[-n:]) for m in MARKERS)), 0
    )


def _joined(out: Out) -> Out:
    """Texts that follow one another become one; empty ones vanish."""
    joined: Out = []
    for item in out:
        if isinstance(item, str) and joined and isinstance(joined[-1], str):
            joined[-1] += item
        elif item:
            joined.append(item)
    return joined
