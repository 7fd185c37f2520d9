"""A grammar that follows an answer and says which tokens may come next."""

from __future__ import annotations

import ctypes
from typing import Any

import llama_cpp.llama_cpp as c
import numpy as np
import numpy.typing as npt

from homeai.domain.errors import InvalidSchema, WorkerFailed
from homeai.worker.llama.model import Model

_CANDIDATE = np.dtype([("id", np.int32), ("logit", np.float32), ("p", np.float32)])


class Grammar:
    """Native grammar state of one answer.

    Args:
        model: Whose vocabulary is meant.
        gbnf: Text that `homeai.structured` has validated; root rule `root`.

    Raises:
        InvalidSchema: The native parser refused it all the same.
    """

    def __init__(self, model: Model, gbnf: str) -> None:
        self._model = model
        self._sampler = c.llama_sampler_init_grammar(model.vocab, gbnf.encode(), b"root")
        if not self._sampler:
            raise InvalidSchema("The grammar cannot be used by the engine.", param="grammar")
        self._all = np.zeros(model.n_vocab, _CANDIDATE)
        self._all["id"] = np.arange(model.n_vocab)
        self._one = np.zeros(1, _CANDIDATE)

    def allows(self, token: int) -> bool:
        """Whether `token` may come next; costs little, as only it is looked at."""
        self._one[0] = (token, 0.0, 0.0)
        self._apply(self._one)
        return bool(self._one["logit"][0] > -np.inf)

    def mask(self, logits: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
        """Return a copy of `logits`, shape [n_vocab], with -inf for every token that may not come."""
        self._all["id"] = np.arange(self._model.n_vocab)
        self._all["logit"] = logits
        self._apply(self._all)
        masked = np.full(self._model.n_vocab, -np.inf, np.float32)
        masked[self._all["id"]] = self._all["logit"]
        return masked

    def accept(self, token: int) -> None:
        """Follow the answer by one token.

        Raises:
            WorkerFailed: The grammar forbids it; the native call would end the process.
        """
        if not self.allows(token):
            raise WorkerFailed("The answer so far does not fit the grammar.")
        c.llama_sampler_accept(self._sampler, token)

    def _apply(self, candidates: npt.NDArray[np.void]) -> None:
        array: Any = c.llama_token_data_array()
        array.data = ctypes.cast(candidates.ctypes.data, c.llama_token_data_p)
        array.size, array.selected, array.sorted = candidates.size, -1, False
        c.llama_sampler_apply(self._sampler, ctypes.byref(array))

    def close(self) -> None:
        """Free the native state. Safe to call twice."""
        if self._sampler:
            c.llama_sampler_free(self._sampler)
            self._sampler = None
