"""From a `Load` message to a model and a context, or to a reason why not."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from homeai.domain.errors import HomeAIError
from homeai.protocol.messages import Load, LoadFailed, Loading, Ready
from homeai.worker import threads
from homeai.worker.channel import Channel
from homeai.worker.llama import devices, lib
from homeai.worker.llama.context import Context, ContextShape
from homeai.worker.llama.model import Model

BATCH_TOKENS = 512
_MAX_EMBEDDING_BATCH = 8192
_MIB = 2**20
_KV_LINE = re.compile(r"llama_kv_cache[^\n]*: size\s*=\s*([0-9.]+) MiB")
_COMPUTE_LINE = re.compile(r"compute buffer size\s*=\s*([0-9.]+) MiB")


@dataclass(frozen=True, slots=True)
class Loaded:
    """A model that can compute.

    Attributes:
        embeds: Whether it gives vectors instead of text.
    """

    model: Model
    context: Context
    embeds: bool
    ready: Ready


def open_model(order: Load, channel: Channel) -> Model | LoadFailed:
    """Load the model; progress goes to the core as it comes."""
    accelerated = order.device == "gpu"
    try:
        devices.load_backends(order.backends)
        if accelerated and accelerator() is None:
            text = "The engine sees no GPU: none is there, or its driver or backend is missing."
            return LoadFailed(code="no_device", message=text, stage="load")
        return Model(
            Path(order.path),
            gpu_layers=order.gpu_layers if accelerated else None,
            repack=order.profile != "exact",
            progress=_Progress(channel).report,
        )
    except HomeAIError as error:
        return LoadFailed(code=error.code, message=error.message, stage="load")


def accelerator() -> devices.Device | None:
    """The first GPU that the engine sees."""
    return next((device for device in devices.devices() if device.is_accelerator), None)


def make_context(order: Load, model: Model) -> Loaded | LoadFailed:
    """Make the context of a loaded model."""
    exact = order.profile == "exact"
    embeds = is_embedding_model(model)
    shape = _shape(order, model, exact=exact, embeds=embeds)
    try:
        context = Context(model, shape)
    except HomeAIError as error:
        return LoadFailed(code=error.code, message=error.message, stage="context")
    native = lib.LOG.text()
    ready = Ready(
        context_tokens=shape.context_tokens,
        train_context_tokens=model.train_context,
        sequences=shape.sequences,
        vocab=model.n_vocab,
        embeddings=embeds,
        chat_template=model.metadata("tokenizer.chat_template") is not None,
        fingerprint=f"{lib.fingerprint()} | {order.profile}",
        device_name=_device_name(order),
        weights_bytes=model.size_bytes,
        kv_bytes=_mib_sum(_KV_LINE, native),
        compute_bytes=_mib_sum(_COMPUTE_LINE, native),
    )
    return Loaded(model, context, embeds, ready)


def is_embedding_model(model: Model) -> bool:
    """Whether the file says that its vectors are the product: an encoder, or a pooling type is set."""
    architecture = model.metadata("general.architecture")
    pooling = model.metadata(f"{architecture}.pooling_type")
    return not model.has_decoder or pooling not in {None, "0"}


def context_tokens(order: Load, model: Model) -> int:
    """What one sequence may hold: what was asked for, at most what the model was trained for."""
    return min(order.context_tokens, model.train_context or order.context_tokens)


def _shape(order: Load, model: Model, *, exact: bool, embeds: bool) -> ContextShape:
    cores = threads.usable_cores()
    tokens = context_tokens(order, model)
    batch = BATCH_TOKENS
    if embeds:  # the pooled vector needs the whole input in one call
        batch = min(tokens, _MAX_EMBEDDING_BATCH)
    return ContextShape(
        context_tokens=tokens,
        sequences=1 if embeds else order.sequences,
        batch_tokens=batch,
        threads=threads.decode_threads(order.threads, cores),
        threads_batch=threads.batch_threads(order.threads_batch, cores),
        # attention sums in one fixed order only over a quantised cache: see docs/adr on profiles
        kv_type="q8_0" if exact else order.kv_type,
        embeddings=embeds,
    )


def _device_name(order: Load) -> str:
    found = accelerator() if order.device == "gpu" else None
    return "CPU" if found is None else found.name


class _Progress:
    """Sends a message for each whole percent."""

    def __init__(self, channel: Channel) -> None:
        self._channel, self._percent = channel, -1

    def report(self, fraction: float) -> bool:
        percent = int(fraction * 100)
        if percent > self._percent:
            self._percent = percent
            self._channel.send(Loading(fraction=fraction))
        return True


def _mib_sum(line: re.Pattern[str], text: str) -> int | None:
    sizes = [float(size) for size in line.findall(text)]
    return int(sum(sizes) * _MIB) if sizes else None
