"""The messages by which a worker is asked to do something for a request."""

from __future__ import annotations

import msgspec

from homeai.domain.request import ChatPrompt, GenerationRequest
from homeai.protocol.messages import Prepare, Submit
from homeai.protocol.tokens import ids_to_bytes
from homeai.router.generation import Generation

_SEED_MASK = 2**64 - 1


def prepare(ticket: int, request: GenerationRequest) -> Prepare:
    """Ask for the token ids of the prompt."""
    bias_ids = list(request.sampling.logit_bias)
    return Prepare(ticket=ticket, prompt=request.prompt, logit_bias_ids=bias_ids)


def submit(ticket: int, generation: Generation, choice: int) -> Submit:
    """Ask for one answer; each choice after the first draws with a seed of its own.

    Without token ids the prompt goes along as it is, and the worker prepares it first.
    """
    request = generation.request
    sampling = request.sampling
    if choice:
        sampling = msgspec.structs.replace(sampling, seed=(sampling.seed + choice) & _SEED_MASK)
    is_prepared = generation.prompt_ids is not None
    return Submit(
        ticket=ticket,
        client=request.client,
        prompt_ids=generation.prompt_ids or b"",
        prompt=None if is_prepared else request.prompt,
        max_tokens=generation.answer_tokens if is_prepared else request.max_tokens or 0,
        sampling=sampling,
        stop=request.stop,
        grammar=request.grammar,
        logprobs=request.logprobs,
        accepted_ids=ids_to_bytes(generation.accepted[choice]),
        sent_chars=generation.sent_chars[choice],
        tools=isinstance(request.prompt, ChatPrompt) and bool(request.prompt.tools),
    )
