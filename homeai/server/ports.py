"""What the HTTP doors need from the rest of the house; `homeai.service` provides it.

Doors are written against these protocols only, so tests can run them over a scripted core.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Any, Protocol

from homeai.agent.loop import Agent
from homeai.domain.events import Event
from homeai.domain.request import EmbeddingRequest, GenerationRequest
from homeai.domain.snapshot import Snapshot
from homeai.domain.stream import StreamEvent
from homeai.journal.journal import KeptAnswer
from homeai.settings.schema import Settings


class Generation(Protocol):
    """A request that was accepted by the router.

    Attributes:
        request_id: The request's id.
        prompt_text: Text of a raw prompt (for `echo`), known once the first event arrived, else None.
    """

    request_id: str
    prompt_text: str | None

    async def next_events(self, timeout_s: float | None = None) -> list[StreamEvent]:
        """Wait for news and return all that came since the last call, in order.

        Returns an empty list when `timeout_s` passed without news (time for an SSE comment).
        After the last end event was returned, further calls raise `RuntimeError`.
        """
        ...

    def cancel(self) -> None:
        """The client is gone. Safe to call at any time and more than once; never raises.

        The queue place or the worker's sequence is free within one token step.
        """
        ...


class EventLog(Protocol):
    """Numbered events of the whole service; a bounded number is kept."""

    def follow(self, after: int | None) -> AsyncIterator[tuple[int, Event]]:
        """Yield (id, event), first those kept with an id > `after` (None = only new ones), then live."""
        ...


class Figures(Protocol):
    """What was counted since the start, and the present, for Prometheus."""

    def text(self, accept: str) -> tuple[str, bytes]:
        """Return content type and body, in OpenMetrics if `accept` names it."""
        ...


class ModelCard(Protocol):
    """A model as `/v1/models` lists it."""

    @property
    def name(self) -> str:
        """Public id; never a path."""
        ...

    @property
    def created(self) -> int:
        """Unix time of the file, seconds."""
        ...


class Core(Protocol):
    """The whole house as the doors see it."""

    @property
    def settings(self) -> Settings:
        """Current settings."""
        ...

    @property
    def events(self) -> EventLog:
        """Typed events."""
        ...

    @property
    def metrics(self) -> Figures:
        """Figures for Prometheus."""
        ...

    def submit(self, request: GenerationRequest) -> Generation:
        """Take a request in. Never blocks and never raises: a refusal arrives as the `Failed` event."""
        ...

    async def embed(self, request: EmbeddingRequest) -> tuple[list[list[float]], int]:
        """Return one L2-normalised vector an input, and the number of prompt tokens.

        Raises:
            HomeAIError: BadRequest when the model does not embed, Busy …
        """
        ...

    def models(self) -> Sequence[ModelCard]:
        """Models that can be asked for, the active one first."""
        ...

    def snapshot(self) -> Snapshot:
        """The current picture; cheap enough to call on every request."""
        ...

    def requests(self) -> list[dict[str, Any]]:
        """Records of running, waiting and recently ended requests, newest first; no prompt, no text."""
        ...

    def cancel(self, request_id: str) -> bool:
        """Cancel a running or waiting request; False if there is none of that id."""
        ...

    async def estimate(self, request: GenerationRequest) -> dict[str, Any]:
        """Return `prompt_tokens` and `estimate_ms` per worker (p50 and p90, or None).

        Raises:
            HomeAIError: The request cannot be understood, or no worker can count its tokens now.
        """
        ...

    def choose(self, request_id: str, choice: str) -> bool:
        """Carry out `retry_cpu` | `wait_gpu` | `cancel`; False if the request waits for no choice.

        Raises:
            BadRequest: Another word.
        """
        ...

    @property
    def mode(self) -> str:
        """`auto` | `ask` | `gpu_only` | `cpu`."""
        ...

    def set_mode(self, mode: str) -> None:
        """Change the way requests take.

        Raises:
            BadRequest: Another word.
        """
        ...

    @property
    def agent(self) -> Agent:
        """Carries out agent runs."""
        ...

    async def keep_answer(self, answer: KeptAnswer) -> None:
        """Keep a complete answer for repeats; a journal that cannot be written is no error."""
        ...

    async def kept_answer(self, client: str, key: str) -> KeptAnswer | None:
        """The answer kept under a client's key."""
        ...
