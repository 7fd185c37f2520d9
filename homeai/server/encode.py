"""Events → OpenAI's response bodies and stream chunks."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import msgspec

from homeai.domain.errors import HomeAIError
from homeai.domain.stream import Finished, FinishReason, TokenLogprob, Usage

_encode = msgspec.json.Encoder().encode

_ERROR_TYPES = {401: "authentication_error", 403: "permission_error", 404: "not_found_error"}
_SERVER_ERRORS_FROM = 500
_LEAST_LOGPROB = -9999.0


def error_body(error: HomeAIError, request_id: str) -> dict[str, Any]:
    """Return OpenAI's error object for an error."""
    kind = _ERROR_TYPES.get(error.http_status, "invalid_request_error")
    if error.http_status >= _SERVER_ERRORS_FROM:
        kind = "server_error"
    details = {"request_id": request_id, **error.details}
    return {
        "error": {
            "message": error.message,
            "type": kind,
            "code": error.code,
            "param": error.param,
            "homeai": details,
        }
    }


def finish_word(reason: FinishReason, calls: int = 0) -> str:
    """OpenAI's word for why an answer ended.

    Args:
        reason: Why.
        calls: Tool calls in it.
    """
    if reason is FinishReason.LENGTH:
        return "length"
    return "tool_calls" if calls else "stop"


def usage_body(usages: list[Usage], prompts: list[Usage]) -> dict[str, Any]:
    """Token counts of all choices; each prompt counts once.

    Args:
        usages: One entry a choice.
        prompts: One entry a prompt.
    """
    prompt = sum(usage.prompt_tokens for usage in prompts)
    completion = sum(usage.completion_tokens for usage in usages)
    return {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
        "prompt_tokens_details": {"cached_tokens": sum(usage.cached_tokens for usage in prompts)},
    }


def homeai_body(request_id: str, finished: Finished) -> dict[str, Any]:
    """The `homeai` object of an answer."""
    return {"request_id": request_id, **finished.facts}


def chat_logprobs(entries: list[TokenLogprob]) -> dict[str, Any]:
    """Log probabilities in the shape of chat completions."""
    return {
        "content": [
            {
                **_named(entry.piece, entry.logprob),
                "top_logprobs": [_named(piece, value) for _, piece, value in entry.top],
            }
            for entry in entries
        ],
        "refusal": None,
    }


def _named(piece: bytes, value: float) -> dict[str, Any]:
    text = piece.decode("utf-8", "replace")
    return {"token": text, "logprob": _finite(value), "bytes": list(piece)}


def _finite(value: float) -> float:
    """JSON has no -inf; OpenAI writes the least value like this."""
    return max(value, _LEAST_LOGPROB)


@dataclass(slots=True)
class TextLogprobs:
    """Log probabilities in the shape of text completions.

    Attributes:
        offset: Characters before the next token.
    """

    offset: int = 0

    def body(self, entries: list[TokenLogprob]) -> dict[str, Any]:
        """Return the object for the next tokens."""
        tokens, offsets = [], []
        for entry in entries:
            text = entry.piece.decode("utf-8", "replace")
            tokens.append(text)
            offsets.append(self.offset)
            self.offset += len(text)
        return {
            "tokens": tokens,
            "token_logprobs": [_finite(entry.logprob) for entry in entries],
            "top_logprobs": [
                {piece.decode("utf-8", "replace"): _finite(value) for _, piece, value in entry.top}
                for entry in entries
            ],
            "text_offset": offsets,
        }


@dataclass(slots=True)
class Dialect:
    """The words of one endpoint.

    Attributes:
        id: Of the answer.
        created: Unix time, seconds.
        model: Name of the model.
        chat: Chat completions, else text completions.
    """

    id: str
    created: int
    model: str
    chat: bool
    _text_logprobs: dict[int, TextLogprobs] = field(default_factory=dict)

    def _head(self, kind: str) -> dict[str, Any]:
        return {"id": self.id, "object": kind, "created": self.created, "model": self.model}

    def logprobs(self, choice: int, entries: list[TokenLogprob] | None) -> dict[str, Any] | None:
        """Log probabilities of some tokens of a choice."""
        if entries is None:
            return None
        if self.chat:
            return chat_logprobs(entries)
        return self._text_logprobs.setdefault(choice, TextLogprobs()).body(entries)

    def whole(
        self, choices: list[dict[str, Any]], usage: dict[str, Any], extra: dict[str, Any]
    ) -> bytes:
        """The body of an answer that comes in one piece."""
        kind = "chat.completion" if self.chat else "text_completion"
        return _encode({**self._head(kind), "choices": choices, "usage": usage, "homeai": extra})

    def choice(
        self,
        index: int,
        text: str,
        reason: str,
        entries: list[TokenLogprob] | None,
        calls: list[dict[str, Any]] | None = None,
    ) -> dict[str, Any]:
        """One choice of a whole answer, with its tool calls."""
        body: dict[str, Any] = {"index": index, "finish_reason": reason}
        body["logprobs"] = self.logprobs(index, entries)
        if self.chat:
            body["message"] = {"role": "assistant", "content": text, "refusal": None}
            if calls:
                body["message"] |= {"content": text or None, "tool_calls": calls}
        else:
            body["text"] = text
        return body

    def chunk(
        self,
        index: int,
        text: str | None,
        *,
        reason: str | None = None,
        entries: list[TokenLogprob] | None = None,
        first: bool = False,
        extra: dict[str, Any] | None = None,
        call: dict[str, Any] | None = None,
    ) -> bytes:
        """One chunk of a stream for one choice.

        Args:
            index: Of the choice.
            text: What comes; None = no text.
            reason: Why the choice ended, in its last chunk.
            entries: Log probabilities of tokens that came.
            first: The chunk begins the choice.
            extra: The `homeai` object, in the last chunk of the stream.
            call: A whole tool call.
        """
        body: dict[str, Any] = {"index": index, "finish_reason": reason}
        if (logprobs := self.logprobs(index, entries)) is not None:
            body["logprobs"] = logprobs
        if self.chat:
            delta: dict[str, Any] = {"role": "assistant"} if first else {}
            if text is not None:
                delta["content"] = text
            if call is not None:
                delta["tool_calls"] = [call]
            body["delta"] = delta
        else:
            body["text"] = text or ""
        kind = "chat.completion.chunk" if self.chat else "text_completion"
        whole = {**self._head(kind), "choices": [body]}
        return _encode(whole if extra is None else {**whole, "homeai": extra})

    def usage_chunk(self, usage: dict[str, Any], extra: dict[str, Any]) -> bytes:
        """The last chunk of a stream whose client asked for token counts."""
        kind = "chat.completion.chunk" if self.chat else "text_completion"
        return _encode({**self._head(kind), "choices": [], "usage": usage, "homeai": extra})
