"""What a header means: which model this is, how big, what it can do."""

from __future__ import annotations

import re
from dataclasses import dataclass
from math import prod
from pathlib import Path

from homeai.models.engine_facts import ARCHITECTURES
from homeai.models.gguf import Header, LongArray, read_header
from homeai.models.problems import ModelFileError

_SPLIT_NAME = re.compile(r"(.*)-(\d{5})-of-(\d{5})\.gguf", re.DOTALL)
_NOT_MODELS = {
    "mmproj": "an image projector, not a model; it belongs beside one",
    "adapter": "a LoRA adapter, not a model; it belongs to one",
    "imatrix": "an importance matrix, not a model",
    "vocab": "a vocabulary without weights",
}


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """A usable model file.

    Attributes:
        architecture: `general.architecture`.
        title: The model's own name, if it has one.
        parameters: Number of weights.
        quantisation: Type of most of the weights, such as `Q4_1`.
        context_tokens: What it was trained for; None = not said.
        n_layers / n_kv_heads / key_width / value_width: For the KV cache; None = not said.
        n_embd: Width of the model.
        vocab: Number of tokens.
        chat_template: Whether the file brings one.
        embeds: Whether vectors are its product.
        size_bytes: Of all parts.
    """

    architecture: str
    title: str | None
    parameters: int
    quantisation: str
    context_tokens: int | None
    n_layers: int | None
    n_kv_heads: int | None
    key_width: int | None
    value_width: int | None
    n_embd: int | None
    vocab: int
    chat_template: bool
    embeds: bool
    size_bytes: int

    def kv_bytes(self, tokens: int, *, bytes_per_element: float = 2.0) -> int | None:
        """Size of the KV cache for `tokens` tokens, all sequences together; None = not known.

        One key and one value of the model's width per layer and token; 2 bytes for f16, 1.0625 for q8_0.
        """
        widths = (self.n_layers, self.n_kv_heads, self.key_width, self.value_width)
        if None in widths:
            return None
        layers, heads, keys, values = (width or 0 for width in widths)
        return int(layers * heads * (keys + values) * tokens * bytes_per_element)


def inspect(path: Path) -> ModelFacts:
    """Read a model file and say what it is.

    Raises:
        ModelFileError: It is no usable model; the message says why.
    """
    header = read_header(path)
    meta = header.metadata
    architecture = str(meta.get("general.architecture", ""))
    kind = str(meta.get("general.type", "model"))
    if architecture == "clip" or kind in _NOT_MODELS:
        raise ModelFileError(
            "not_a_model", f"The file is {_NOT_MODELS.get(kind, _NOT_MODELS['mmproj'])}."
        )
    if architecture not in ARCHITECTURES:
        raise ModelFileError(
            "unknown_architecture",
            f"The architecture {architecture[:40]!r} is not known to this version's engine.",
        )
    size = header.file_bytes + _other_parts(path, meta)
    tokens = meta.get("tokenizer.ggml.tokens")
    if not isinstance(tokens, LongArray | list):
        raise ModelFileError("no_vocabulary", "The file holds no vocabulary.")
    if not header.tensors:
        raise ModelFileError("not_a_model", "The file holds no weights.")
    return _facts(
        header, architecture, len(tokens) if isinstance(tokens, list) else tokens.length, size
    )


def _facts(header: Header, architecture: str, vocab: int, size: int) -> ModelFacts:
    meta = header.metadata

    def number(key: str) -> int | None:
        value = meta.get(f"{architecture}.{key}")
        if isinstance(
            value, list
        ):  # one value a layer in some hybrids: the largest bounds the cost
            value = max(value, default=None)
        return value if isinstance(value, int) and not isinstance(value, bool) else None

    heads, width = number("attention.head_count"), number("embedding_length")
    head_width = width // heads if width and heads else None
    by_type: dict[str, int] = {}
    for tensor in header.tensors:
        by_type[tensor.type_name] = by_type.get(tensor.type_name, 0) + tensor.size_bytes
    pooling = meta.get(f"{architecture}.pooling_type")
    return ModelFacts(
        architecture=architecture,
        title=str(meta["general.name"]) if meta.get("general.name") else None,
        parameters=sum(prod(t.shape) for t in header.tensors),
        quantisation=max(by_type, key=lambda name: by_type[name]),
        context_tokens=number("context_length"),
        n_layers=number("block_count"),
        n_kv_heads=number("attention.head_count_kv") or heads,
        key_width=number("attention.key_length") or head_width,
        value_width=number("attention.value_length") or head_width,
        n_embd=width,
        vocab=vocab,
        chat_template=bool(meta.get("tokenizer.chat_template")),
        embeds=pooling not in (None, 0) or "bert" in architecture or architecture == "t5encoder",
        size_bytes=size,
    )


def _other_parts(path: Path, meta: dict[str, object]) -> int:
    """Bytes of the further files of a split model.

    Raises:
        ModelFileError: This is not the first part, or parts are missing.
    """
    count = meta.get("split.count", 1)
    if not isinstance(count, int) or count <= 1:
        return 0
    number = meta.get("split.no", 0)
    if number != 0:
        raise ModelFileError(
            "split_incomplete",
            f"The file is part {int(str(number)) + 1} of {count} of a split model; use part 1.",
        )
    match = _SPLIT_NAME.fullmatch(path.name)
    names = (
        [path.with_name(f"{match[1]}-{part:05}-of-{count:05}.gguf") for part in range(2, count + 1)]
        if match
        else []
    )
    missing = [part for part, name in enumerate(names, 2) if not name.is_file()]
    if not match or missing:
        which = ", ".join(map(str, missing)) or f"2 to {count}"
        raise ModelFileError(
            "split_incomplete",
            f"The model is split into {count} files; missing beside this one: part {which}.",
        )
    return sum(name.stat().st_size for name in names)
