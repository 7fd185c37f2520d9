"""Turns prompts into token ids, beside the engine: a long template never delays anybody's stream."""

from __future__ import annotations

from collections.abc import Callable

from homeai.domain.errors import BadRequest, HomeAIError
from homeai.domain.request import ChatPrompt, Prompt, TokenPrompt
from homeai.protocol.messages import (
    Detokenize,
    Detokenized,
    Prepare,
    Prepared,
    Refused,
    ToWorker,
)
from homeai.protocol.tokens import bytes_to_ids, ids_to_bytes
from homeai.worker.chat import ChatPrompting
from homeai.worker.generation import check_ids
from homeai.worker.inbox import Inbox
from homeai.worker.llama.model import Model

Send = Callable[..., None]


class Preparer:
    """Answers `Prepare` and `Detokenize`, one after the other, on a thread of its own.

    Args:
        model: Vocabulary and template.
        send: For answers; may be called from this thread.
    """

    def __init__(self, model: Model, send: Send) -> None:
        self._model, self._send = model, send
        self._chat = ChatPrompting(model)

    def run(self, inbox: Inbox[ToWorker]) -> None:
        """Work until the inbox is closed."""
        while (messages := inbox.take(wait=True)) is not None:
            for message in messages:
                self._send(self._answer(message))

    def _answer(self, message: ToWorker) -> Prepared | Detokenized | Refused:
        if not isinstance(message, Prepare | Detokenize):
            msg = f"a {type(message).__name__} does not belong here"
            raise TypeError(msg)
        try:
            if isinstance(message, Detokenize):
                return Detokenized(
                    ticket=message.ticket, text=self._text(bytes_to_ids(message.ids))
                )
            check_ids(message.logit_bias_ids, self._model.n_vocab)
            ids = self._ids(message.prompt)
            text = None if isinstance(message.prompt, ChatPrompt) else self._text(ids)
            return Prepared(ticket=message.ticket, prompt_ids=ids_to_bytes(ids), text=text)
        except HomeAIError as error:
            return Refused(
                ticket=message.ticket, code=error.code, message=error.message, param=error.param
            )

    def _ids(self, prompt: Prompt) -> list[int]:
        model = self._model
        if isinstance(prompt, ChatPrompt):
            ids = self._chat.ids(prompt)
        elif isinstance(prompt, TokenPrompt):
            ids = prompt.ids
            check_ids(ids, model.n_vocab)
        else:
            ids = model.tokenize(prompt.text.encode(), add_special=True)
            start = model.eos if model.bos is None else model.bos
            if not ids and start is not None:
                ids = [start]  # an empty prompt begins a new text
        if not ids:
            raise BadRequest("The prompt is empty; at least one token is needed.", param="prompt")
        return ids

    def _text(self, ids: list[int]) -> str:
        check_ids(ids, self._model.n_vocab)
        return b"".join(map(self._model.piece, ids)).decode("utf-8", "replace")
