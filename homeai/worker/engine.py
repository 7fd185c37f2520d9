"""Continuous batching: several answers grow in one decode call, prompts join chunk by chunk.

One thread owns the engine. It is told what to do between decode calls, so a cancel or a new request
takes effect within one call.
"""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter

import msgspec

from homeai.domain.errors import HomeAIError
from homeai.domain.stream import FinishReason
from homeai.protocol.messages import Done, Piece, Refused, Started, Step, Submit
from homeai.worker.batcher import Pending, chunk_limit, prefill_share
from homeai.worker.generation import Generation
from homeai.worker.llama.context import Context, DecodeFailed
from homeai.worker.llama.failures import Failure
from homeai.worker.llama.model import Model
from homeai.worker.slots import SlotTable

Send = Callable[..., None]

_ASSUMED_PREFILL_TOKENS_S = 64.0
"""Until the first measurement: cautious, so that no call looks like a hang on a slow machine."""
_MEASURED_FROM_ROWS = 16


class Engine:
    """Runs all tickets of one model.

    Args:
        model: Vocabulary.
        context: Its KV cache; one sequence per slot.
        send: Called with messages for the core, several at once where they belong together.
    """

    def __init__(self, model: Model, context: Context, send: Send) -> None:
        self._model, self._context, self._send = model, context, send
        self._slots = SlotTable(context.shape.sequences, can_cut=not model.is_recurrent)
        self._waiting: list[Generation] = []
        self._running: list[Generation] = []
        self._prefill_tokens_s = _ASSUMED_PREFILL_TOKENS_S
        self.steps = 0
        self.last_token_at: float | None = None

    @property
    def in_flight(self) -> int:
        """Tickets that hold a sequence or wait for one."""
        return len(self._running) + len(self._waiting)

    def submit(self, order: Submit) -> None:
        """Take a ticket in; it is refused at once if it cannot be served."""
        try:
            generation = Generation(order, self._model, self._context.shape.context_tokens)
        except HomeAIError as error:
            self._send(
                Refused(
                    ticket=order.ticket, code=error.code, message=error.message, param=error.param
                )
            )
            return
        self._waiting.append(generation)

    def cancel(self, ticket: int) -> None:
        """End a ticket; nothing happens if it has ended already."""
        for generation in (*self._running, *self._waiting):
            if generation.ticket == ticket:
                generation.reason = FinishReason.CANCELLED
                self._end(generation)
                self._send(generation.done())
                return

    def step(self) -> None:
        """Admit waiting tickets and make one decode call.

        Raises:
            DecodeFailed: The engine cannot go on; the process must end.
        """
        self._admit()
        if not self._running:
            return
        began = perf_counter()
        rows, outputs = self._fill()
        if not self._context.decode(rows):
            failure = Failure("worker_failed", "The KV cache had no room for an admitted request.")
            raise DecodeFailed(1, failure)
        self.steps += 1
        self._account(rows, perf_counter() - began)
        if messages := self._draw(outputs):
            self._send(*messages)

    def _admit(self) -> None:
        while self._waiting:
            generation = self._waiting[0]
            if not self._place(generation):
                return
            self._waiting.pop(0)
            messages: list[msgspec.Struct] = [
                Started(ticket=generation.ticket, cached_tokens=generation.cached)
            ]
            if generation.replayed is not None:
                messages.append(Step(pieces=[generation.replayed]))
            if generation.reason is None:
                self._running.append(generation)
            else:  # the earlier attempt had drawn the last token already
                self._end(generation)
                messages.append(generation.done())
            self._send(*messages)

    def _place(self, generation: Generation) -> bool:
        placement = self._slots.place(generation.client, generation.tokens)
        if placement is None:
            return False
        slot, context = placement.slot, self._context
        if placement.copy_from is not None:
            context.forget(slot.index)
            context.copy(placement.copy_from, slot.index)
        if not context.forget(slot.index, placement.reuse) and placement.reuse:
            # this kind of memory cannot be cut back after all: compute the whole prompt
            context.forget(slot.index)
            placement = type(placement)(slot, 0)
        self._slots.take(placement, generation.client, generation.ticket, generation.tokens)
        generation.slot = slot
        generation.computed = placement.reuse
        generation.cached = min(placement.reuse, generation.prompt_size)
        return True

    def _fill(self) -> tuple[int, list[Generation]]:
        """Put the next call's tokens into the batch; return its rows and whose logits come out."""
        context, row = self._context, 0
        # llama.cpp computes neighbouring sequences together only if they come in ascending order;
        # four rows out of order take twice as long
        running = sorted(self._running, key=lambda generation: generation.sequence.index)
        decoding = [generation for generation in running if generation.is_decoding]
        for generation in decoding:
            slot, token = generation.sequence, generation.tokens[-1]
            context.add(row, token, generation.computed, slot.index, output=True)
            slot.tokens.append(token)
            generation.computed += 1
            row += 1
        pending = {
            generation.ticket: generation
            for generation in self._running
            if generation.remaining and generation not in decoding
        }
        chunks = prefill_share(
            [Pending(g.ticket, g.remaining, g.waited) for g in pending.values()],
            len(decoding),
            context.shape.batch_tokens,
            chunk_limit(self._prefill_tokens_s, beside_streams=bool(decoding)),
        )
        outputs = decoding
        for ticket, size in sorted(chunks, key=lambda chunk: pending[chunk[0]].sequence.index):
            generation = pending.pop(ticket)
            slot, start = generation.sequence, generation.computed
            ids = generation.tokens[start : start + size]
            complete = start + size == len(generation.tokens)
            row = context.add_run(row, ids, start, slot.index, output_last=complete)
            slot.tokens.extend(ids)
            generation.computed += size
            if complete:
                outputs.append(generation)
        for generation in pending.values():
            generation.waited += 1
        return row, outputs

    def _draw(self, outputs: list[Generation]) -> list[msgspec.Struct]:
        if not outputs:
            return []
        logits = self._context.logits(len(outputs))
        pieces: list[Piece] = []
        ended: list[Done] = []
        for row, generation in enumerate(outputs):
            piece = generation.draw(logits[row])
            if piece.ids or piece.text:
                pieces.append(piece)
            if generation.reason is not None:
                self._end(generation)
                ended.append(generation.done())
        self.last_token_at = perf_counter()
        return [Step(pieces=pieces), *ended] if pieces else [*ended]

    def _account(self, rows: int, seconds: float) -> None:
        if rows >= _MEASURED_FROM_ROWS:
            self._prefill_tokens_s += 0.5 * (rows / seconds - self._prefill_tokens_s)
        for generation in self._running:
            if generation.drawn > generation.resumed:
                generation.decode_s += seconds
            else:
                generation.prefill_s += seconds

    def _end(self, generation: Generation) -> None:
        if generation in self._running:
            self._running.remove(generation)
        if generation in self._waiting:
            self._waiting.remove(generation)
        if generation.slot is not None and generation.slot.ticket is not None:
            self._slots.release(generation.slot)
        generation.close()
