"""Turns prompts into token ids, beside the engine: a long template never delays anybody's stream."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from homeai.domain.errors import BadRequest, HomeAIError
from homeai.domain.request import ChatPrompt, Prompt, TokenPrompt
from homeai.protocol.messages import (
    Cancel,
    Detokenize,
    Detokenized,
    Prepare,
    Prepared,
    Refused,
    Submit,
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

    A `Submit` with an unprepared prompt is prepared and handed on to the engine; a `Cancel` follows it.

    Args:
        model: Vocabulary and template.
        context_tokens: What prompt and answer may have together.
        send: For answers; may be called from this thread.
        hand_on: Takes what the engine is to do.
    """

    def __init__(
        self, model: Model, context_tokens: int, send: Send, hand_on: Callable[[ToWorker], None]
    ) -> None:
        self._model, self._context_tokens = model, context_tokens
        self._send, self._hand_on = send, hand_on
        self._chat = ChatPrompting(model)

    def run(self, inbox: Inbox[ToWorker]) -> None:
        """Work until the inbox is closed."""
        while (messages := inbox.take(wait=True)) is not None:
            for message in messages:
                self._take(message)

    def _take(self, message: ToWorker) -> None:
        if isinstance(message, Cancel):
            self._hand_on(message)
            return
        if not isinstance(message, Prepare | Detokenize | Submit):
            msg = f"a {type(message).__name__} does not belong here"
            raise TypeError(msg)
        try:
            match message:
                case Detokenize():
                    text = self._text(bytes_to_ids(message.ids))
                    self._send(Detokenized(ticket=message.ticket, text=text))
                case Prepare():
                    self._send(
                        self._prepared(message.ticket, message.prompt, message.logit_bias_ids)
                    )
                case Submit():
                    self._submit(message)
        except HomeAIError as error:
            self._send(
                Refused(
                    ticket=message.ticket, code=error.code, message=error.message, param=error.param
                )
            )

    def _submit(self, order: Submit) -> None:
        if order.prompt is None:
            raise BadRequest("There is no prompt.", param="prompt")
        prepared = self._prepared(order.ticket, order.prompt, list(order.sampling.logit_bias))
        self._send(prepared)
        left = self._context_tokens - len(prepared.prompt_ids) // 4
        wanted = order.max_tokens or left
        if 0 < wanted <= left:  # else the core, which knows its length now, tells the client
            self._hand_on(
                msgspec.structs.replace(
                    order, prompt=None, prompt_ids=prepared.prompt_ids, max_tokens=wanted
                )
            )

    def _prepared(self, ticket: int, prompt: Prompt, bias_ids: list[int]) -> Prepared:
        check_ids(bias_ids, self._model.n_vocab)
        ids = self._ids(prompt)
        text = None if isinstance(prompt, ChatPrompt) else self._text(ids)
        return Prepared(ticket=ticket, prompt_ids=ids_to_bytes(ids), text=text)

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
