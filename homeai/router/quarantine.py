"""Requests that ended two workers are not tried a third time, whoever asks."""

from __future__ import annotations

from collections import OrderedDict

import msgspec

from homeai.domain.errors import PoisonRequest
from homeai.domain.request import GenerationRequest
from homeai.router.clock import now

_KEPT = 256
_LASTS_S = 600.0
"""Long enough for a client that repeats by itself; not for ever, since the engine may be at fault."""


class Quarantine:
    """Remembers poisonous requests by their work, not by their id."""

    def __init__(self) -> None:
        self._since: OrderedDict[int, float] = OrderedDict()

    def refusal(self, request: GenerationRequest) -> PoisonRequest | None:
        """Return the error if the same work ended two workers before."""
        if not self._since:
            return None
        since = self._since.get(_fingerprint(request))
        if since is not None and now() - since < _LASTS_S:
            return PoisonRequest(
                "This very request ended two workers before; it is not tried again."
            )
        return None

    def add(self, request: GenerationRequest) -> None:
        """It ended two workers."""
        self._since[_fingerprint(request)] = now()
        if len(self._since) > _KEPT:
            self._since.popitem(last=False)


def _fingerprint(request: GenerationRequest) -> int:
    """The same for the same work, whoever asks."""
    work = (request.prompt, request.grammar, request.stop, request.max_tokens, request.n)
    return hash(msgspec.msgpack.encode(work))
