"""One answer in the making, as the engine sees it: tokens drawn, text given out, why it ended."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from homeai.domain.errors import BadRequest, ContextLengthExceeded
from homeai.domain.stream import FinishReason, TokenLogprob
from homeai.protocol.messages import Done, Piece, Submit
from homeai.protocol.tokens import bytes_to_ids
from homeai.worker.llama.grammar import Grammar
from homeai.worker.llama.model import Model
from homeai.worker.sampling import Sampler, logprobs
from homeai.worker.slots import Slot
from homeai.worker.textout import TextOut


class Generation:
    """State of one ticket.

    Args:
        order: The core's message.
        model: Vocabulary and grammar.
        context_tokens: Tokens a sequence may hold.

    Attributes:
        tokens: Prompt and drawn tokens.
        computed: How many of `tokens` are in the KV cache.
        waited: Decode calls in which the prompt was passed over.
        resumed: Tokens that an earlier attempt had drawn.
        reason: Why it ended; None = it goes on.

    Raises:
        BadRequest: A token id outside the vocabulary, an empty prompt, an empty stop string.
        ContextLengthExceeded: The prompt does not fit.
        InvalidSchema: The grammar is refused by native code.
        WorkerFailed: Accepted tokens do not fit the grammar.
    """

    def __init__(self, order: Submit, model: Model, context_tokens: int) -> None:
        prompt, accepted = bytes_to_ids(order.prompt_ids), bytes_to_ids(order.accepted_ids)
        check_ids(prompt, model.n_vocab)
        check_ids(accepted, model.n_vocab)
        if not prompt:
            raise BadRequest("The prompt is empty; at least one token is needed.", param="prompt")
        if len(prompt) + max(order.max_tokens, 1) > context_tokens:
            msg = (
                f"The prompt has {len(prompt)} tokens and the answer may have {order.max_tokens}; "
                f"together at most {context_tokens} fit."
            )
            raise ContextLengthExceeded(msg, param="messages")
        self.order, self._model = order, model
        self.ticket, self.client = order.ticket, order.client
        self.prompt_size = len(prompt)
        self.tokens = prompt + accepted
        self._sampler = Sampler(order.sampling, model.n_vocab)
        self._text = TextOut(order.stop)
        self._grammar = Grammar(model, order.grammar) if order.grammar is not None else None
        self.slot: Slot | None = None
        self.computed = self.cached = self.waited = 0
        self.reason: FinishReason | None = None
        self.prefill_s = self.decode_s = 0.0
        self.resumed = len(accepted)
        self.replayed = self._replay(accepted) if accepted else None

    def _replay(self, accepted: list[int]) -> Piece | None:
        """Rebuild grammar and text state; return text that an earlier attempt held back or lost."""
        if self._grammar is not None:
            for token in accepted:
                self._grammar.accept(token)
        text = self._text.replay(map(self._piece, accepted), self.order.sent_chars)
        if self._text.stopped:
            self.reason = FinishReason.STOP
        elif len(accepted) >= self.order.max_tokens:
            self.reason = FinishReason.LENGTH
            text += self._text.push(b"", final=True)
        return Piece(self.ticket, len(accepted), [], text) if text else None

    @property
    def sequence(self) -> Slot:
        """The sequence it holds; only for a running generation."""
        if self.slot is None:
            raise RuntimeError("a generation without a sequence cannot compute")
        return self.slot

    @property
    def drawn(self) -> int:
        """Number of tokens drawn so far."""
        return len(self.tokens) - self.prompt_size

    @property
    def remaining(self) -> int:
        """Tokens not in the KV cache yet; 1 = an ordinary decode step, unless nothing is computed."""
        return len(self.tokens) - self.computed

    @property
    def is_decoding(self) -> bool:
        """Whether the prompt is computed and one token goes in at a time."""
        return self.remaining == 1 and self.drawn > 0

    def draw(self, logits: npt.NDArray[np.float32]) -> Piece:
        """Draw the next token and return what it brings; sets `reason` when it is the last.

        Args:
            logits: Shape [n_vocab], for the position after `tokens`.
        """
        token = self._pick(logits)
        index = self.drawn
        if token is None or self._model.is_end(token):
            self.reason = FinishReason.STOP
            return Piece(self.ticket, index, [], self._text.push(b"", final=True))
        probabilities = self._logprobs(logits, token)
        self.tokens.append(token)
        if self._grammar is not None:
            self._grammar.accept(token)
        text = self._text.push(self._piece(token))
        if self._text.stopped:
            self.reason = FinishReason.STOP
        elif self.drawn >= self.order.max_tokens:
            self.reason = FinishReason.LENGTH
            text += self._text.push(b"", final=True)
        return Piece(self.ticket, index, [token], text, probabilities)

    def _piece(self, token: int) -> bytes:
        """The text of a token; marks of tool calls are shown to those who offered tools."""
        is_mark = self.order.tools and token in self._model.tool_marks
        return self._model.piece(token, special=is_mark)

    def _pick(self, logits: npt.NDArray[np.float32]) -> int | None:
        """Pick first and ask the grammar about that one token; only a refusal costs a full mask."""
        position = len(self.tokens)
        if self._sampler.is_plain_greedy:
            adjusted, token = logits, int(logits.argmax())
        else:
            adjusted = self._sampler.adjust(logits, self.tokens)
            token = self._sampler.pick(adjusted, position)
        if self._grammar is None or self._grammar.allows(token):
            return token
        masked = self._grammar.mask(adjusted)
        if not np.isfinite(masked.max()):
            return None  # the grammar is complete and the model's end token was banned
        return self._sampler.pick(masked, position)

    def _logprobs(self, logits: npt.NDArray[np.float32], token: int) -> list[TokenLogprob] | None:
        if self.order.logprobs is None:
            return None
        own, top = logprobs(logits, token, self.order.logprobs)
        piece = self._model.piece
        return [
            TokenLogprob(
                id=token,
                piece=piece(token),
                logprob=own,
                top=[(other, piece(other, special=True), value) for other, value in top],
            )
        ]

    def done(self) -> Done:
        """The closing message. Call once `reason` is set."""
        return Done(
            ticket=self.ticket,
            reason=self.reason or FinishReason.CANCELLED,
            prompt_tokens=self.prompt_size,
            completion_tokens=self.drawn,
            cached_tokens=self.cached,
            prefill_s=self.prefill_s,
            decode_s=self.decode_s,
        )

    def close(self) -> None:
        """Free native state. Safe to call twice."""
        if self._grammar is not None:
            self._grammar.close()


def check_ids(ids: list[int], n_vocab: int) -> None:
    """Refuse ids native code must not see.

    Raises:
        BadRequest: An id outside 0 … n_vocab - 1.
    """
    if ids and not (min(ids) >= 0 and max(ids) < n_vocab):
        wrong = next(token for token in ids if not 0 <= token < n_vocab)
        msg = f"Token {wrong} is not in the vocabulary; allowed are 0 to {n_vocab - 1}."
        raise BadRequest(msg, param="prompt")
