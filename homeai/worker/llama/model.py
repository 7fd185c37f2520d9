"""A loaded model: vocabulary, tokenizer, metadata. Safe to read from several threads."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from functools import cached_property
from pathlib import Path

import llama_cpp.llama_cpp as c

from homeai.domain.errors import ModelInvalid, RamInsufficient
from homeai.worker.llama import lib
from homeai.worker.llama.failures import Failure, recognise

_METADATA_BYTES = 1 << 20
_PIECE_BYTES = 512
_TOOL_MARKS = frozenset({"<tool_call>", "</tool_call>", "[TOOL_CALLS]", "[ARGS]", "<|python_tag|>"})


class Model:
    """Weights and vocabulary of one GGUF file.

    Args:
        path: The file; its header was checked before (`homeai.models.gguf`).
        gpu_layers: Layers that go to the accelerator, -1 = all; None = no accelerator is touched.
        repack: Make private, faster copies of some weights; costs memory, changes results slightly.
        progress: Called with 0..1 while loading; returning False aborts.

    Raises:
        ModelInvalid: The file cannot be used.
        RamInsufficient: Memory was refused.
    """

    def __init__(
        self,
        path: Path,
        *,
        gpu_layers: int | None = None,
        repack: bool = True,
        progress: Callable[[float], bool] | None = None,
    ) -> None:
        params = c.llama_model_default_params()
        params.use_extra_bufts = repack
        if gpu_layers is not None:
            params.n_gpu_layers = gpu_layers
        else:
            # n_gpu_layers=0 alone still lets a visible GPU take compute buffers and big batches
            params.n_gpu_layers = lib.NO_GPU_LAYERS
            params.split_mode = lib.SPLIT_MODE_NONE
            params.main_gpu = lib.NO_GPU
        self._progress = c.llama_progress_callback(
            lambda fraction, _data: True if progress is None else progress(fraction)
        )
        params.progress_callback = self._progress
        lib.LOG.clear()
        self.handle = c.llama_model_load_from_file(os.fsencode(path), params)
        if not self.handle:
            raise _load_error(lib.LOG.errors())
        self.vocab = c.llama_model_get_vocab(self.handle)
        self.n_vocab: int = c.llama_vocab_n_tokens(self.vocab)
        self._pieces: dict[tuple[int, bool], bytes] = {}
        self._eog: dict[int, bool] = {}

    def tokenize(
        self, text: bytes, *, special: bool = False, add_special: bool = False
    ) -> list[int]:
        """Return the ids of `text` (UTF-8).

        Args:
            text: What to tokenise.
            special: Read control tokens written out in the text; only for text of our own.
            add_special: Add the model's BOS/EOS as its metadata asks.
        """
        capacity = len(text) + 16
        while True:
            ids = (ctypes.c_int32 * capacity)()
            count = c.llama_tokenize(
                self.vocab, text, len(text), ids, capacity, add_special, special
            )
            if count >= 0:
                return list(ids[:count])
            capacity = -count

    def piece(self, token: int, *, special: bool = False) -> bytes:
        """Return the bytes of one token, maybe a part of a character.

        Args:
            token: 0 ≤ id < n_vocab.
            special: Give the text of control tokens instead of nothing.
        """
        key = (token, special)
        if (known := self._pieces.get(key)) is not None:
            return known
        # a buffer of its own for each call: this runs on the preparing thread as well
        buffer = ctypes.create_string_buffer(_PIECE_BYTES)
        size = c.llama_token_to_piece(self.vocab, token, buffer, _PIECE_BYTES, 0, special)
        if size < 0:
            buffer = ctypes.create_string_buffer(-size)
            size = c.llama_token_to_piece(self.vocab, token, buffer, -size, 0, special)
        piece = buffer.raw[:size]
        self._pieces[key] = piece
        return piece

    def is_end(self, token: int) -> bool:
        """Whether the token ends an answer."""
        if (known := self._eog.get(token)) is None:
            known = self._eog[token] = bool(c.llama_vocab_is_eog(self.vocab, token))
        return known

    @cached_property
    def control_texts(self) -> dict[str, int]:
        """Written form of each control token, for the template: text → id."""
        mask = lib.TOKEN_ATTR_CONTROL | lib.TOKEN_ATTR_UNKNOWN
        texts = {}
        for token in range(self.n_vocab):
            if c.llama_vocab_get_attr(self.vocab, token) & mask:
                text = (c.llama_vocab_get_text(self.vocab, token) or b"").decode("utf-8", "replace")
                if text:
                    texts[text] = token
        return texts

    @cached_property
    def tool_marks(self) -> frozenset[int]:
        """Control tokens that stand around tool calls."""
        return frozenset(
            self.control_texts[text] for text in _TOOL_MARKS & self.control_texts.keys()
        )

    @property
    def bos(self) -> int | None:
        """Token that begins a text, if the model has one."""
        token = c.llama_vocab_bos(self.vocab)
        return token if token >= 0 else None

    @property
    def eos(self) -> int | None:
        """Token that ends a text, if the model has one."""
        token = c.llama_vocab_eos(self.vocab)
        return token if token >= 0 else None

    @property
    def adds_bos(self) -> bool:
        """Whether raw text gets a BOS in front."""
        return bool(c.llama_vocab_get_add_bos(self.vocab))

    @property
    def train_context(self) -> int:
        """Tokens of context the model was trained for."""
        return int(c.llama_model_n_ctx_train(self.handle))

    @property
    def n_embd(self) -> int:
        """Width of an embedding vector."""
        return int(c.llama_model_n_embd_out(self.handle))

    @property
    def size_bytes(self) -> int:
        """Sum of all tensor bytes."""
        return int(c.llama_model_size(self.handle))

    @property
    def has_decoder(self) -> bool:
        """False for encoder-only models (embeddings)."""
        return bool(c.llama_model_has_decoder(self.handle))

    @property
    def is_recurrent(self) -> bool:
        """Whether the sequence state cannot be cut back (no prefix reuse)."""
        handle = self.handle
        return bool(c.llama_model_is_recurrent(handle) or c.llama_model_is_hybrid(handle))

    def metadata(self, key: str) -> str | None:
        """Return a metadata value as text, or None."""
        buffer = ctypes.create_string_buffer(_METADATA_BYTES)
        size = c.llama_model_meta_val_str(self.handle, key.encode(), buffer, _METADATA_BYTES)
        if size < 0:
            return None
        return buffer.raw[: min(size, _METADATA_BYTES - 1)].decode("utf-8", "replace")

    def close(self) -> None:
        """Free the weights. Safe to call twice."""
        if self.handle:
            c.llama_model_free(self.handle)
            self.handle = None


def _load_error(native_text: str) -> ModelInvalid | RamInsufficient:
    failure = recognise(
        native_text,
        otherwise=Failure("model_invalid", "The engine could not load the model file."),
    )
    if failure.code == "ram_insufficient":
        return RamInsufficient(failure.sentence)
    return ModelInvalid(failure.sentence)
