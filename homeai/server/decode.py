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
from homeai.server.messages import read_messages
from homeai.server.parameters import refuse_unknown
from homeai.server.tool_fields import read_tools
from homeai.tools.grammar import calls_grammar
from homeai.tools.offer import Choice, Offer

MAX_TOKENS = 2**24
MAX_LOGPROBS = 20
MAX_PROMPTS = MAX_ANSWERS = 16
MAX_INPUTS = 2048
_CHAT_ONLY = frozenset(
    {
        "messages",
        "top_logprobs",
        "max_completion_tokens",
        "chat_template_kwargs",
        "reasoning_effort",
        "tools",
        "tool_choice",
        "parallel_tool_calls",
    }
)
_EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh")
_TEMPLATE_OWN = frozenset({"messages", "tools", "add_generation_prompt", "bos_token", "eos_token"})


@dataclass(frozen=True, slots=True)
class Asked:
    """A decoded body.

    Attributes:
        requests: One per prompt; several only for lists in `/v1/completions`.
        stream: Whether the answer comes in pieces.
        usage: Whether a stream ends with the token counts.
        model: Name to repeat in the answer.
        offer: Tools that the answer may call.
    """

    requests: tuple[GenerationRequest, ...]
    stream: bool
    usage: bool
    model: str
    offer: Offer | None = None


@dataclass(frozen=True, slots=True)
class Caller:
    """What the door knows besides the body.

    Attributes:
        request_id: For life.
        client: Whose request it is.
        deadline_s: From the headers; None = setting.
        new_seed: Gives a seed when the client sent none.
        fallback: What is wanted when the GPU cannot answer; None = setting.
    """

    request_id: str
    client: str
    deadline_s: float | None
    new_seed: Callable[[], int]
    fallback: str | None = None


def chat(body: dict[str, Any], caller: Caller) -> Asked:
    """Decode `POST /v1/chat/completions`.

    Raises:
        BadRequest: Anything that cannot be understood or honoured.
    """
    fields = Fields(body)
    offer, tools = read_tools(fields)
    prompt = ChatPrompt(read_messages(fields), tools, _template_args(fields))
    try:
        msgspec.msgpack.encode(prompt)  # as it travels to a worker
    except OverflowError:
        raise BadRequest("tools or chat_template_kwargs hold a number beyond 64 bits.") from None
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
    known = common.COMMON | _CHAT_ONLY
    return _finish(fields, caller, [prompt], logprobs, newer or older, known, offer)


def completion(body: dict[str, Any], caller: Caller) -> Asked:
    """Decode `POST /v1/completions`.

    Raises:
        BadRequest: Anything that cannot be understood or honoured.
    """
    fields = Fields(body)
    prompts = _prompts(fields)
    logprobs = fields.count("logprobs", None, 0, MAX_LOGPROBS)
    echo = fields.switch("echo")
    if echo and logprobs is not None:
        raise UnsupportedParameter(
            "echo together with logprobs is not supported: those of the prompt are not computed.",
            param="echo",
        )
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
    refuse_unknown(fields, frozenset({"input", "encoding_format", "model"}))
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
    offer: Offer | None = None,
) -> Asked:
    stream = fields.switch("stream")
    usage = _include_usage(fields, stream=stream)
    model = fields.text("model")
    count = fields.count("n", 1, 1, common.MAX_CHOICES) or 1
    if count * len(prompts) > MAX_ANSWERS:
        given = f"{count} answers to each of {len(prompts)} prompts"
        raise fields.wrong("n", given, f"at most {MAX_ANSWERS} in all")
    base = GenerationRequest(
        id=caller.request_id,
        client=caller.client,
        prompt=prompts[0],
        model=model,
        max_tokens=max_tokens,
        n=count,
        stop=common.read_stop(fields),
        sampling=common.read_sampling(fields, caller.new_seed),
        grammar=_grammar(fields, offer),
        logprobs=logprobs,
        deadline_s=caller.deadline_s,
        fallback=caller.fallback,
    )
    refuse_unknown(fields, known, count)
    requests = tuple(
        msgspec.structs.replace(
            base, id=f"{base.id}.{number}" if number else base.id, prompt=prompt
        )
        for number, prompt in enumerate(prompts)
    )
    return Asked(requests, stream, usage, model, offer)


def _grammar(fields: Fields, offer: Offer | None) -> str | None:
    """The form that was asked for, or that of a call if the model must call a tool."""
    form = common.read_grammar(fields)
    if offer is None:
        return form
    if form is not None:
        allowed = "free text together with tools, unless tool_choice is none"
        raise fields.wrong("response_format", "a form of the answer", allowed)
    return calls_grammar(offer) if offer.choice is Choice.REQUIRED else None


def _template_args(fields: Fields) -> dict[str, Any]:
    """Variables for the chat template; one that knows `reasoning_effort` gets it too."""
    given = fields.object("chat_template_kwargs") or {}
    effort = fields.text("reasoning_effort")
    if effort and effort not in _EFFORTS:
        raise fields.wrong("reasoning_effort", effort, ", ".join(_EFFORTS))
    taken = sorted(given.keys() & _TEMPLATE_OWN)
    if taken or not all(name.isidentifier() for name in given):
        allowed = f"names of variables other than {', '.join(sorted(_TEMPLATE_OWN))}"
        raise fields.wrong("chat_template_kwargs", taken[0] if taken else "no name", allowed)
    return {"reasoning_effort": effort, **given} if effort else given


def _include_usage(fields: Fields, *, stream: bool) -> bool:
    options = fields.object("stream_options")
    if options is None:
        return False
    if not stream:
        raise fields.wrong("stream_options", options, "only together with stream: true")
    inner = Fields(options, "stream_options.")
    include = inner.switch("include_usage")
    inner.switch("include_obfuscation")
    refuse_unknown(inner, frozenset({"include_usage"}))
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
