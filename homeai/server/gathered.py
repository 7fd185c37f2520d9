"""Answers as a whole, from the events of one generation."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from homeai.domain.errors import HomeAIError
from homeai.domain.request import GenerationRequest
from homeai.domain.stream import (
    Delta,
    Failed,
    Finished,
    Notice,
    Queued,
    Started,
    TokenLogprob,
    Usage,
)
from homeai.server.encode import Dialect, finish_word
from homeai.server.ports import Generation
from homeai.server.spoken import Spoken, without_index
from homeai.tools.offer import Offer


@dataclass
class Gathered:
    """All answers of one generation, complete.

    Attributes:
        texts: One a choice.
        error: Why there are none.
    """

    request_id: str
    texts: list[str]
    entries: list[list[TokenLogprob]]
    finished: dict[int, Finished] = field(default_factory=dict)
    error: HomeAIError | None = None
    has_logprobs: bool = False

    @classmethod
    async def of(cls, generation: Generation, request: GenerationRequest) -> Gathered:
        """Read a generation to its end."""
        parts: list[list[str]] = [[] for _ in range(request.n)]
        gathered = cls(request.id, [""] * request.n, [[] for _ in range(request.n)])
        while len(gathered.finished) < request.n and gathered.error is None:
            for event in await generation.next_events():
                match event:
                    case Delta():
                        parts[event.choice].append(event.text)
                        gathered.entries[event.choice] += event.logprobs or ()
                    case Finished():
                        gathered.finished[event.choice] = event
                    case Failed():
                        gathered.error = event.error
                    case Queued() | Started() | Notice():
                        pass
        echo = generation.prompt_text or "" if request.echo_prompt else ""
        gathered.texts = [echo + "".join(part) for part in parts]
        gathered.has_logprobs = request.logprobs is not None
        return gathered

    @property
    def usages(self) -> list[Usage]:
        """One a choice."""
        return [self.finished[choice].usage for choice in sorted(self.finished)]

    @property
    def last(self) -> Finished:
        """The choice that ended last."""
        return list(self.finished.values())[-1]

    def choices(self, dialect: Dialect, offset: int, offer: Offer | None) -> list[dict[str, Any]]:
        """The choices as the dialect writes them, numbered from `offset`; `offer` is what may be called."""
        return [
            self._choice(dialect, offset + index, index, offer) for index in range(len(self.texts))
        ]

    def _choice(
        self, dialect: Dialect, number: int, index: int, offer: Offer | None
    ) -> dict[str, Any]:
        reason, text = self.finished[index].reason, self.texts[index]
        entries = self.entries[index] if self.has_logprobs else None
        if offer is None:
            return dialect.choice(number, text, finish_word(reason), entries)
        spoken = Spoken(offer, self.request_id, index)
        items = [*spoken.push(text), *spoken.finish(reason)]
        text = "".join(item for item in items if isinstance(item, str))
        calls = [without_index(item) for item in items if isinstance(item, dict)]
        return dialect.choice(number, text, finish_word(reason, len(calls)), entries, calls)
