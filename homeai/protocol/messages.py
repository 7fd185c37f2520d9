"""Messages between core and worker.

A *ticket* names one attempt of one choice of one request; tickets are never reused while a core runs.
Token ids travel as little-endian int32 bytes (`protocol.tokens`), since a prompt can hold many thousands.
"""

from __future__ import annotations

import msgspec

from homeai.domain.request import Prompt, Sampling
from homeai.domain.stream import TokenLogprob

PROTOCOL_VERSION = 2


class _Message(msgspec.Struct, frozen=True, kw_only=True, tag_field="t", omit_defaults=True):
    """Base: a tagged, immutable struct."""


# core → worker


class Load(_Message, frozen=True, tag="load"):
    """Load a model and make a context. Sent once, first.

    Attributes:
        path: The GGUF file (first file of a split model).
        profile: `fast` | `exact`.
        context_tokens: Tokens each sequence may hold.
        sequences: Sequences decoded in parallel.
        threads: Threads of single-token decode; 0 = cores - 1.
        threads_batch: Threads of prefill and batched decode; 0 = cores.
        device: `cpu` | `gpu`.
        kv_type: `f16` | `q8_0`; the exact profile always takes q8_0.
        standby: Load the model only; the context, which costs memory, is made on `Arm`.
        backends: Paths of ggml backend plugins to load first.
        gpu_layers: Layers on the accelerator; -1 = all.
    """

    path: str
    profile: str = "fast"
    context_tokens: int = 8192
    sequences: int = 2
    threads: int = 0
    threads_batch: int = 0
    device: str = "cpu"
    kv_type: str = "f16"
    standby: bool = False
    backends: list[str] = []
    gpu_layers: int = -1


class Arm(_Message, frozen=True, tag="arm"):
    """Make the context of a model that stands by. Answered by `Ready` or `LoadFailed`."""


class Disarm(_Message, frozen=True, tag="disarm"):
    """Give the context's memory back and stand by. Answered by `StandingBy`; ignored while it works."""


class Prepare(_Message, frozen=True, tag="prepare"):
    """Turn a prompt into token ids (template, tokenizer). Answered by `Prepared` or `Refused`."""

    ticket: int
    prompt: Prompt
    logit_bias_ids: list[int] = []
    """Token ids to be checked against the vocabulary."""


class Submit(_Message, frozen=True, tag="submit"):
    """Generate. Answered by `Started`, `Step` items and one of `Done` or `Refused`.

    Attributes:
        client: Prefix reuse happens only between tickets of one client.
        prompt_ids: Packed int32; empty if `prompt` is given.
        prompt: A prompt that is not prepared yet: the ticket is answered by `Prepared` first, which saves
            a round trip when a sequence is free. If it does not fit, nothing else follows.
        accepted_ids: Packed int32; tokens an earlier attempt already drew (resume), else empty.
        sent_chars: Characters of answer text that already reached the client (resume).
        max_tokens: Most tokens of the answer, accepted ones included; 0 = what the context holds, only
            with `prompt`.
        tools: Tools are offered, so the marks of tool calls are part of the text.
    """

    ticket: int
    client: str
    max_tokens: int
    prompt_ids: bytes = b""
    prompt: Prompt | None = None
    sampling: Sampling = Sampling()
    stop: tuple[str, ...] = ()
    grammar: str | None = None
    logprobs: int | None = None
    accepted_ids: bytes = b""
    sent_chars: int = 0
    tools: bool = False


class Embed(_Message, frozen=True, tag="embed"):
    """Embed each list of token ids (packed int32). Answered by `Embedded` or `Refused`."""

    ticket: int
    inputs: list[bytes]


class Cancel(_Message, frozen=True, tag="cancel"):
    """Stop this ticket's work within one token step.

    Answered by `Done(reason="cancelled")` unless it had ended.
    """

    ticket: int


class Detokenize(_Message, frozen=True, tag="detokenize"):
    """Turn ids (packed int32) into text. Answered by `Detokenized`."""

    ticket: int
    ids: bytes


class Stop(_Message, frozen=True, tag="stop"):
    """End the process; running tickets are dropped."""


ToWorker = Load | Arm | Disarm | Prepare | Submit | Embed | Cancel | Detokenize | Stop


# worker → core


class Hello(_Message, frozen=True, tag="hello"):
    """First message: the process lives and speaks this protocol version."""

    pid: int
    protocol: int = PROTOCOL_VERSION


class Loading(_Message, frozen=True, tag="loading"):
    """Fraction 0..1 of the weights that are loaded."""

    fraction: float


class StandingBy(_Message, frozen=True, tag="standing_by"):
    """The model is loaded and checked, without a context: prompts can be prepared, not computed."""

    weights_bytes: int | None = None


class Ready(_Message, frozen=True, tag="ready"):
    """The model is loaded and the context exists.

    Attributes:
        context_tokens: Tokens one sequence may hold (never more than asked for).
        train_context_tokens: What the model was trained for.
        embeddings: True if the model only embeds, False if it only generates.
        chat_template: Whether the file brought a usable chat template.
        fingerprint: Engine version and system info; equal fingerprints mean the same arithmetic.
        device_name: ggml's name of the device, `CPU` otherwise.
        weights_bytes / kv_bytes / compute_bytes: Buffers as llama.cpp reported them; None = unknown.
    """

    context_tokens: int
    train_context_tokens: int
    sequences: int
    vocab: int
    embeddings: bool = False
    chat_template: bool = True
    fingerprint: str = ""
    device_name: str = "CPU"
    weights_bytes: int | None = None
    kv_bytes: int | None = None
    compute_bytes: int | None = None


class LoadFailed(_Message, frozen=True, tag="load_failed"):
    """The model could not be loaded; the process ends afterwards.

    Attributes:
        code: `model_invalid` | `ram_insufficient` | `worker_failed` | `no_device` ….
        message: One sentence for the user, without a path.
        stage: `file` | `load` | `context`.
    """

    code: str
    message: str
    stage: str


class Prepared(_Message, frozen=True, tag="prepared"):
    """Answer to `Prepare`. `text` is the prompt's plain text, only for raw-text and token prompts."""

    ticket: int
    prompt_ids: bytes
    text: str | None = None


class Refused(_Message, frozen=True, tag="refused"):
    """A ticket that cannot be served; `code` names a class of `domain.errors`."""

    ticket: int
    code: str
    message: str
    param: str | None = None


class Started(_Message, frozen=True, tag="started"):
    """The ticket got a sequence; `cached_tokens` of its prompt were already in the KV cache."""

    ticket: int
    cached_tokens: int


class Piece(msgspec.Struct, frozen=True, array_like=True, omit_defaults=True):
    """What one decode step brought for one ticket.

    Attributes:
        index: Index of the first token in this answer, from 0.
        ids: The tokens drawn.
        text: Text that became safe to show, maybe empty.
        logprobs: One entry per id, if asked for.
    """

    ticket: int
    index: int
    ids: list[int]
    text: str
    logprobs: list[TokenLogprob] | None = None


class Step(_Message, frozen=True, tag="step"):
    """All pieces of one decode step: one message a step, not one a token."""

    pieces: list[Piece]


class Done(_Message, frozen=True, tag="done"):
    """A ticket ended. Its last text came in a `Step` before.

    Attributes:
        reason: `stop` | `length` | `cancelled`.
        prefill_s / decode_s: Seconds in each phase.
    """

    ticket: int
    reason: str
    prompt_tokens: int
    completion_tokens: int
    cached_tokens: int
    prefill_s: float
    decode_s: float


class Embedded(_Message, frozen=True, tag="embedded"):
    """Vectors as packed little-endian float32, one an input, L2-normalised."""

    ticket: int
    vectors: list[bytes]


class Detokenized(_Message, frozen=True, tag="detokenized"):
    """Answer to `Detokenize`."""

    ticket: int
    text: str


class Heartbeat(_Message, frozen=True, tag="heartbeat"):
    """Once a second: health is progress.

    Attributes:
        steps: Decode steps since the start.
        last_token_age_s: None = no token yet.
        in_flight: Tickets that hold a sequence or wait for one.
    """

    steps: int
    in_flight: int
    rss_bytes: int | None = None
    last_token_age_s: float | None = None


class Fatal(_Message, frozen=True, tag="fatal"):
    """The engine cannot go on; the process ends after this message.

    Attributes:
        status: Return code of `llama_decode`, if that was it.
    """

    code: str
    message: str
    status: int | None = None


_OfProcess = Hello | Loading | StandingBy | Ready | LoadFailed | Heartbeat | Fatal
_OfTickets = Prepared | Refused | Started | Step | Done | Embedded | Detokenized
FromWorker = _OfProcess | _OfTickets
