"""Embedding vectors from a model made for it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from homeai.domain.errors import BadRequest, ContextLengthExceeded, HomeAIError
from homeai.protocol.messages import Embed, Embedded, Refused
from homeai.protocol.tokens import bytes_to_ids
from homeai.worker.generation import check_ids
from homeai.worker.llama.context import Context
from homeai.worker.llama.model import Model


class Embedder:
    """Answers `Embed` messages, one input a call.

    Args:
        model: Vocabulary.
        context: Made with `embeddings=True`.
    """

    def __init__(self, model: Model, context: Context) -> None:
        self._model, self._context = model, context

    def answer(self, order: Embed) -> Embedded | Refused:
        """Return one L2-normalised float32 vector an input, or why not."""
        try:
            vectors = [self._vector(bytes_to_ids(data)) for data in order.inputs]
        except HomeAIError as error:
            return Refused(
                ticket=order.ticket, code=error.code, message=error.message, param="input"
            )
        return Embedded(ticket=order.ticket, vectors=vectors)

    def _vector(self, ids: Sequence[int]) -> bytes:
        limit = min(self._context.shape.batch_tokens, self._context.shape.context_tokens)
        check_ids(list(ids), self._model.n_vocab)
        if not ids:
            raise BadRequest("An input has no tokens; at least one is needed.", param="input")
        if len(ids) > limit:
            msg = f"An input has {len(ids)} tokens; at most {limit} fit."
            raise ContextLengthExceeded(msg, param="input")
        for row, token in enumerate(ids):
            self._context.add(row, token, row, 0, output=True)
        self._context.decode(len(ids))
        vector = self._context.embedding(0)
        self._context.forget(0)
        length = float(np.linalg.norm(vector))
        return (vector / length if length else vector).astype("<f4").tobytes()
