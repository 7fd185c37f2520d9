"""A context: the KV cache of several sequences and the decode call. Used from one thread only."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import Any

import llama_cpp.llama_cpp as c
import numpy as np
import numpy.typing as npt

from homeai.domain.errors import HomeAIError, RamInsufficient, WorkerFailed
from homeai.worker.llama import lib
from homeai.worker.llama.failures import Failure, of_decode, recognise
from homeai.worker.llama.model import Model

_NO_SLOT, _ABORTED = 1, 2
_WHOLE = -1


class DecodeFailed(Exception):
    """`llama_decode` gave a negative status; the process should end.

    Attributes:
        status: The native return code.
        failure: What it means.
    """

    def __init__(self, status: int, failure: Failure) -> None:
        super().__init__(failure.sentence)
        self.status, self.failure = status, failure


@dataclass(frozen=True, slots=True)
class ContextShape:
    """Everything that decides a context's size and arithmetic.

    Attributes:
        context_tokens: Tokens one sequence may hold.
        sequences: Number of sequences.
        batch_tokens: Most tokens of one decode call.
        threads: Threads of a call with one token.
        threads_batch: Threads of a call with more.
        kv_type: `f16` | `q8_0`.
        unified: One cell pool for all sequences instead of one each.
        embeddings: Pooled vectors instead of logits.
    """

    context_tokens: int
    sequences: int
    batch_tokens: int = 512
    threads: int = 1
    threads_batch: int = 1
    kv_type: str = "f16"
    unified: bool = False
    embeddings: bool = False


class Context:
    """KV cache and decode of one model.

    Args:
        model: Stays open as long as the context.
        shape: Sizes and arithmetic.

    Raises:
        RamInsufficient: Memory for KV cache or compute buffers was refused.
        WorkerFailed: The engine refused the configuration.
    """

    def __init__(self, model: Model, shape: ContextShape) -> None:
        self.model, self.shape = model, shape
        params = c.llama_context_default_params()
        params.n_ctx = shape.context_tokens * shape.sequences
        params.n_seq_max = shape.sequences
        params.n_batch = params.n_ubatch = shape.batch_tokens
        params.n_threads, params.n_threads_batch = shape.threads, shape.threads_batch
        params.flash_attn_type = lib.FLASH_ATTENTION_ON
        params.type_k = params.type_v = lib.KV_TYPES[shape.kv_type]
        params.kv_unified = shape.unified
        params.swa_full = True  # else a sliding-window cache cannot be cut back to a common prefix
        params.embeddings = shape.embeddings
        if not shape.embeddings:
            # without it the output buffer is reserved for a logits row of every batch token
            params.n_outputs_max = shape.sequences
        params.no_perf = True
        lib.LOG.clear()
        self.handle = c.llama_init_from_model(model.handle, params)
        if not self.handle:
            raise _context_error(lib.LOG.errors())
        self._memory = c.llama_get_memory(self.handle)
        self._batch = _BatchArrays(shape.batch_tokens)

    def add(self, row: int, token: int, position: int, sequence: int, *, output: bool) -> None:
        """Put one token into row `row` of the next decode call."""
        batch = self._batch
        batch.token[row], batch.position[row] = token, position
        batch.sequence[row], batch.output[row] = sequence, output

    def add_run(
        self, row: int, tokens: npt.ArrayLike, position: int, sequence: int, *, output_last: bool
    ) -> int:
        """Put consecutive tokens of one sequence into the batch from `row` on; returns the next row."""
        batch, ids = self._batch, np.asarray(tokens, dtype=np.int32)
        end = row + len(ids)
        batch.token[row:end] = ids
        batch.position[row:end] = np.arange(position, position + len(ids), dtype=np.int32)
        batch.sequence[row:end] = sequence
        batch.output[row:end] = 0
        if output_last:
            batch.output[end - 1] = 1
        return end

    def decode(self, rows: int) -> bool:
        """Compute the first `rows` rows of the batch.

        Returns:
            False if the KV cache had no room (nothing was changed), else True.

        Raises:
            ValueError: `rows` outside 1 … batch_tokens, or more outputs than sequences; native code
                would abort the process.
            DecodeFailed: The engine cannot go on.
        """
        if not 1 <= rows <= self.shape.batch_tokens:
            msg = f"batch of {rows} rows, allowed are 1 to {self.shape.batch_tokens}"
            raise ValueError(msg)
        outputs = int(self._batch.output[:rows].sum())
        if not self.shape.embeddings and outputs > self.shape.sequences:
            msg = f"{outputs} outputs, allowed are {self.shape.sequences}"
            raise ValueError(msg)
        self._batch.native.n_tokens = rows
        status = c.llama_decode(self.handle, self._batch.native)
        if status < 0:
            raise DecodeFailed(status, of_decode(status))
        if status == _ABORTED:
            raise DecodeFailed(status, Failure("worker_failed", "The computation was aborted."))
        return bool(status != _NO_SLOT)

    def logits(self, outputs: int) -> npt.NDArray[np.float32]:
        """Return the logits of the last decode, shape [outputs, n_vocab], in batch order.

        The array is a view of native memory, valid until the next decode.
        """
        pointer = c.llama_get_logits(self.handle)
        return np.ctypeslib.as_array(pointer, shape=(outputs, self.model.n_vocab))

    def embedding(self, sequence: int) -> npt.NDArray[np.float32]:
        """Return a copy of the pooled vector of a sequence, shape [n_embd].

        Raises:
            WorkerFailed: The model gave none.
        """
        pointer = c.llama_get_embeddings_seq(self.handle, sequence)
        if not pointer:
            raise WorkerFailed("The engine gave no embedding for this input.")
        return np.ctypeslib.as_array(pointer, shape=(self.model.n_embd,)).copy()

    def forget(self, sequence: int, start: int = 0) -> bool:
        """Drop the tokens of a sequence from position `start` on.

        Returns:
            False if this kind of memory cannot be cut there; then nothing was dropped.
        """
        begin = start if start > 0 else _WHOLE
        return bool(c.llama_memory_seq_rm(self._memory, sequence, begin, _WHOLE))

    def copy(self, source: int, target: int) -> None:
        """Make `target`, which must be empty, hold the same tokens as `source`."""
        c.llama_memory_seq_cp(self._memory, source, target, _WHOLE, _WHOLE)

    def close(self) -> None:
        """Free the KV cache. Safe to call twice."""
        if self.handle:
            c.llama_free(self.handle)
            self.handle = None


class _BatchArrays:
    """numpy-backed `llama_batch`, allocated once: filling it costs no ctypes call a token."""

    def __init__(self, rows: int) -> None:
        self.token = np.zeros(rows, np.int32)
        self.position = np.zeros(rows, np.int32)
        self.sequence = np.zeros(rows, np.int32)
        self.output = np.zeros(rows, np.int8)
        self._one = np.ones(rows, np.int32)
        self._rows = (self.sequence.ctypes.data + 4 * np.arange(rows)).astype(np.uint64)
        # the binding's stubs know arrays only, native code wants pointers
        native: Any = c.llama_batch()
        native.n_tokens, native.embd = 0, None
        native.token = _pointer(self.token, ctypes.c_int32)
        native.pos = _pointer(self.position, ctypes.c_int32)
        native.n_seq_id = _pointer(self._one, ctypes.c_int32)
        native.seq_id = _pointer(self._rows, ctypes.POINTER(ctypes.c_int32))
        native.logits = _pointer(self.output, ctypes.c_int8)
        self.native = native


def _pointer(array: npt.NDArray[Any], kind: type[Any]) -> object:
    return ctypes.cast(array.ctypes.data, ctypes.POINTER(kind))


def _context_error(native_text: str) -> HomeAIError:
    failure = recognise(
        native_text, otherwise=Failure("worker_failed", "The engine could not make a context.")
    )
    if failure.code == "ram_insufficient":
        return RamInsufficient(failure.sentence)
    return WorkerFailed(failure.sentence)
