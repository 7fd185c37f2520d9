"""OpenAI's request bodies → `GenerationRequest`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import msgspec

from homeai.domain.errors import BadRequest, UnsupportedParameter
from homeai.domain.request import (
    ChatPrompt,
    EmbeddingRequest,
    GenerationRequest,
    Prompt,
    TextPrompt,
    TokenPrompt,
)
from homeai.server import sampling_fields as common
from homeai.server.fields import Fields

MAX_TOKENS = 2**24
MAX_LOGPROBS = 20
MAX_PROMPTS = 16
MAX_INPUTS = 256
_ROLES = ("system", "developer", "user", "assistant", "tool")


@dataclass(frozen=True, slots=True)
class Asked:
    """A decoded body.

    Attributes:
        requests: One per prompt; several only for lists in `/v1/completions`.
        stream: Whether the answer comes in pieces.
        usage: Whether a stream ends with the token counts.
        model: Name to repeat in the answer.
    """

    requests: tuple[GenerationRequest, ...]
    stream: bool
    usage: bool
    model: str


@dataclass(frozen=True, slots=True)
class Caller:
    """What the door knows besides the body.

    Attributes:
        request_id: For life.
        client: Whose request it is.
        deadline_s: From the headers; None = setting.
        new_seed: Gives a seed when the client sent none.
    """

    request_id: str
    client: str
    deadline_s: float | None
    new_seed: Callable[[], int]


def chat(body: dict[str, Any], caller: Caller) -> Asked:
    """Decode `POST /v1/chat/completions`.

    Raises:
        BadRequest: Anything that cannot be understood or honoured.
    """
    fields = Fields(body)
    prompt = ChatPrompt(
        _messages(fields), template_args=fields.object("chat_template_kwargs") or {}
    )
    wanted = fields.switch("logprobs")
    top = fields.count("top_logprobs", None, 0, MAX_LOGPROBS)
    if top is not None and not wanted:
        raise fields.wrong("top_logprobs", top, "a number only together with logprobs: true")
    logprobs = (top or 0) if wanted else None
    newer, older = (
        fields.count(name, None, 1, MAX_TOKENS) for name in ("max_completion_tokens", "max_tokens")
    )
    if None not in (newer, older) and newer != older:
        raise fields.wrong("max_tokens", older, "the same as max_completion_tokens, or only one")
    known = common.COMMON | {"messages", "top_logprobs", "max_completion_tokens"}
    return _finish(
        fields, caller, [prompt], logprobs, newer or older, known | {"chat_template_kwargs"}
    )


def completion(body: dict[str, Any], caller: Caller) -> Asked:
    """Decode `POST /v1/completions`.

    Raises:
        BadRequest: Anything that cannot be understood or honoured.
    """
    fields = Fields(body)
    prompts = _prompts(fields)
    logprobs = fields.count("logprobs", None, 0, MAX_LOGPROBS)
    echo = fields.switch("echo")
    max_tokens = fields.count("max_tokens", 16, 1, MAX_TOKENS)
    asked = _finish(
        fields, caller, prompts, logprobs, max_tokens, common.COMMON | {"prompt", "echo"}
    )
    if not echo:
        return asked
    echoing = tuple(msgspec.structs.replace(r, echo_prompt=True) for r in asked.requests)
    return Asked(echoing, asked.stream, asked.usage, asked.model)


def embedding(body: dict[str, Any], caller: Caller) -> tuple[EmbeddingRequest, str]:
    """Decode `POST /v1/embeddings`; returns the request and the encoding, `float` | `base64`.

    Raises:
        BadRequest: Anything that cannot be understood or honoured.
    """
    fields = Fields(body)
    given = fields.take("input")
    inputs = [given] if isinstance(given, str) or _is_ids(given) else given
    usable = isinstance(inputs, list) and all(isinstance(i, str) or _is_ids(i) for i in inputs)
    if not usable or not 1 <= len(inputs) <= MAX_INPUTS or "" in inputs:
        allowed = f"a text, a list of 1 to {MAX_INPUTS} non-empty texts, or token ids"
        raise fields.wrong("input", given, allowed)
    encoding = fields.text("encoding_format", "float")
    if encoding not in ("float", "base64"):
        raise fields.wrong("encoding_format", encoding, "float or base64")
    model = fields.text("model")
    if fields.take("dimensions") is not None:
        raise UnsupportedParameter(
            "dimensions is not supported: vectors come whole.", param="dimensions"
        )
    common.refuse_unknown(fields, frozenset({"input", "encoding_format", "model"}))
    request = EmbeddingRequest(
        id=caller.request_id, client=caller.client, inputs=list(inputs), model=model
    )
    return request, encoding


def _finish(
    fields: Fields,
    caller: Caller,
    prompts: list[Any],
    logprobs: int | None,
    max_tokens: int | None,
    known: frozenset[str],
) -> Asked:
    stream = fields.switch("stream")
    usage = _include_usage(fields, stream=stream)
    model = fields.text("model")
    count = fields.count("n", 1, 1, common.MAX_CHOICES) or 1
    base = GenerationRequest(
        id=caller.request_id,
        client=caller.client,
        prompt=prompts[0],
        model=model,
        max_tokens=max_tokens,
        n=count,
        stop=common.read_stop(fields),
        sampling=common.read_sampling(fields, caller.new_seed),
        grammar=common.read_grammar(fields),
        logprobs=logprobs,
        deadline_s=caller.deadline_s,
    )
    common.refuse_unknown(fields, known)
    requests = tuple(
        msgspec.structs.replace(
            base, id=f"{base.id}.{number}" if number else base.id, prompt=prompt
        )
        for number, prompt in enumerate(prompts)
    )
    return Asked(requests, stream, usage, model)


def _include_usage(fields: Fields, *, stream: bool) -> bool:
    options = fields.object("stream_options")
    if options is None:
        return False
    if not stream:
        raise fields.wrong("stream_options", options, "only together with stream: true")
    inner = Fields(options, "stream_options.")
    include = inner.switch("include_usage")
    inner.switch("include_obfuscation")
    common.refuse_unknown(inner, frozenset({"include_usage"}))
    return include


def _prompts(fields: Fields) -> list[Prompt]:
    given = fields.take("prompt")
    if isinstance(given, str):
        return [TextPrompt(given)]
    if _is_ids(given):
        return [TokenPrompt(given)]
    if isinstance(given, list) and 1 <= len(given) <= MAX_PROMPTS:
        if all(isinstance(item, str) for item in given):
            return [TextPrompt(item) for item in given]
        if all(map(_is_ids, given)):
            return [TokenPrompt(item) for item in given]
    raise fields.wrong(
        "prompt", given, f"a text, a list of token ids, or a list of 1 to {MAX_PROMPTS} of these"
    )


def _is_ids(value: object) -> bool:
    return (
        isinstance(value, list)
        and bool(value)
        and all(isinstance(i, int) and not isinstance(i, bool) and 0 <= i < 2**31 for i in value)
    )


def _messages(fields: Fields) -> list[dict[str, Any]]:
    given = fields.take("messages")
    if not isinstance(given, list) or not given:
        raise fields.wrong("messages", given, "a list with at least one message")
    return [_message(item, f"messages[{number}]") for number, item in enumerate(given)]


def _message(item: object, where: str) -> dict[str, Any]:
    if not isinstance(item, dict):
        raise BadRequest(f"{where}: an object with role and content is needed.", param=where)
    fields = Fields(item, f"{where}.")
    role = fields.text("role")
    if role not in _ROLES:
        raise fields.wrong("role", role, ", ".join(_ROLES))
    if fields.take("tool_calls") or fields.take("function_call"):
        text = "Messages with tool calls come with a later version."
        raise UnsupportedParameter(text, param=f"{where}.tool_calls")
    message: dict[str, Any] = {
        "role": "system" if role == "developer" else role,
        "content": _content(fields, f"{where}.content"),
    }
    for name in ("name", "tool_call_id"):
        if value := fields.text(name):
            message[name] = value
    for ignored in ("refusal", "annotations", "audio", "reasoning_content"):
        fields.take(ignored)  # parts of earlier answers that clients send back
    common.refuse_unknown(fields, frozenset({"role", "content", "name"}))
    return message


def _content(fields: Fields, where: str) -> str:
    content = fields.take("content")
    if isinstance(content, str):
        return content
    if not isinstance(content, list) or not content:
        raise fields.wrong("content", content, "a text or a list of text parts")
    texts = []
    for part in content:
        kind = part.get("type") if isinstance(part, dict) else None
        if kind != "text":
            if isinstance(kind, str):
                text = f"{where}: parts of type {kind[:40]!r} are not supported; this model reads text."
                raise UnsupportedParameter(text, param=where)
            raise BadRequest(f"{where}: parts are objects with type and text.", param=where)
        if not isinstance(part.get("text"), str):
            raise BadRequest(f"{where}: a text part needs a text.", param=where)
        texts.append(part["text"])
    return "".join(texts)
