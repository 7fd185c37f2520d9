"""A generation request: what is asked, by whom, and how the answer is to be drawn.

The values travel from the HTTP door through the router into the worker unchanged, so they are
`msgspec` structs: immutable and ready for the wire.
"""

from __future__ import annotations

from typing import Any

import msgspec

SYSTEM_PROMPT = "You are a helpful assistant."
"""What homeai's own chats begin with; small models go astray with the one in their template."""


class Sampling(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How each next token is drawn. Applied in the order of the fields, after `logit_bias`.

    The draw at a position depends only on the logits, the accepted tokens, `seed` and the position,
    so that another worker can continue an answer without any carried-over state.
    """

    logit_bias: dict[int, float] = {}
    """Added to the logit of each token id; ±100 bans or forces."""
    repeat_penalty: float = 1.0
    """> 0; divides positive and multiplies negative logits of recent tokens. 1 = off."""
    frequency_penalty: float = 0.0
    """-2..2, subtracted per earlier occurrence."""
    presence_penalty: float = 0.0
    """-2..2, subtracted once for each token that occurred."""
    repeat_last_n: int = 64
    """Window of the three penalties in tokens; 0 = off, -1 = whole context."""
    top_k: int = 40
    """Candidates kept; 0 = all."""
    typical_p: float = 1.0
    """Locally typical sampling mass, 0 < p ≤ 1; 1 = off."""
    top_p: float = 0.95
    """Nucleus mass, 0 < p ≤ 1; 1 = off."""
    min_p: float = 0.05
    """Least probability relative to the best candidate, 0..1; 0 = off."""
    temperature: float = 0.8
    """0 = greedy; else logits are divided by it."""
    seed: int = 0
    """0 ≤ seed < 2**64."""


class ChatPrompt(msgspec.Struct, frozen=True, tag="chat"):
    """Messages for the model's own chat template.

    Attributes:
        messages: `{"role","content", …}` with text content only (parts already joined).
        tools: JSON tool descriptions for the template.
        template_args: Extra template variables from the client (`chat_template_kwargs`).
    """

    messages: list[dict[str, Any]]
    tools: list[dict[str, Any]] | None = None
    template_args: dict[str, Any] = {}


class TextPrompt(msgspec.Struct, frozen=True, tag="text"):
    """Raw text; never read as control tokens."""

    text: str


class TokenPrompt(msgspec.Struct, frozen=True, tag="tokens"):
    """Token ids as the client gave them."""

    ids: list[int]


Prompt = ChatPrompt | TextPrompt | TokenPrompt


class GenerationRequest(msgspec.Struct, frozen=True, kw_only=True):
    """One request for one or more answers to one prompt.

    Attributes:
        id: For life, failover included; also sent as `X-Request-Id`.
        client: Whose request it is: the name of an API key, `desktop`, or `local…`. KV cache and queue
            places are shared only within one client.
        model: Name from `/v1/models`; empty = the active one.
        prompt: What to answer.
        max_tokens: Most tokens of one answer; None = what the context still holds.
        n: Number of answers (choices).
        stop: Stop strings; the first in the text wins and is not part of the answer.
        grammar: GBNF text that was validated by `homeai.structured`, root rule `root`; None = free.
        logprobs: None = not wanted; else number of alternatives per token, 0..20.
        echo_prompt: Put the prompt's text before the answer (`/v1/completions` `echo`).
        deadline_s: Seconds the client waits in all, from arrival; None = setting.
        fallback: `auto` | `ask` | `never`: what the client wants when the GPU cannot answer; None = setting.
    """

    id: str
    client: str
    prompt: Prompt
    model: str = ""
    max_tokens: int | None = None
    n: int = 1
    stop: tuple[str, ...] = ()
    sampling: Sampling = Sampling()
    grammar: str | None = None
    logprobs: int | None = None
    echo_prompt: bool = False
    deadline_s: float | None = None
    fallback: str | None = None


class EmbeddingRequest(msgspec.Struct, frozen=True, kw_only=True):
    """Texts or token lists whose embedding vectors are wanted, one vector each, in order."""

    id: str
    client: str
    inputs: list[str | list[int]]
    model: str = ""
