"""Native failures recognised: the one table that turns llama.cpp's words into our errors."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Failure:
    """What a native step's failure means.

    Attributes:
        code: A code of `homeai.domain.errors`.
        sentence: For the user; names no path.
    """

    code: str
    sentence: str


_TABLE: tuple[tuple[str, Failure], ...] = (
    ("invalid magic", Failure("model_invalid", "The file is no GGUF model.")),
    ("failed to open GGUF", Failure("model_invalid", "The model file cannot be opened.")),
    (
        "failed to read key-value pairs",
        Failure("model_invalid", "The model file's header is cut off or damaged."),
    ),
    (
        "not within the file bounds",
        Failure("model_invalid", "The model file is incomplete: data is missing at its end."),
    ),
    (
        "unknown model architecture",
        Failure("model_invalid", "The model's architecture is not known to this version's engine."),
    ),
    ("missing tensor", Failure("model_invalid", "The model file lacks tensors its header names.")),
    ("wrong shape", Failure("model_invalid", "The model file's tensors do not fit its header.")),
    ("key not found in model", Failure("model_invalid", "The model file lacks needed metadata.")),
    ("cannot find tokenizer", Failure("model_invalid", "The model file holds no vocabulary.")),
    ("unknown pre-tokenizer", Failure("model_invalid", "The model's tokenizer is not known.")),
    ("quantized V cache", Failure("worker_failed", "This model cannot use a quantised KV cache.")),
    (
        "insufficient memory",
        Failure("ram_insufficient", "There is not enough memory for this model and context."),
    ),
    (
        "failed to allocate",
        Failure("ram_insufficient", "There is not enough memory for this model and context."),
    ),
    (
        "unable to allocate",
        Failure("ram_insufficient", "There is not enough memory for this model and context."),
    ),
    (
        "Cannot allocate memory",
        Failure("ram_insufficient", "There is not enough memory for this model and context."),
    ),
)

_DECODE: dict[int, Failure] = {
    -1: Failure("worker_failed", "The engine refused a batch; this is a fault of ours."),
    -2: Failure("ram_insufficient", "The engine ran out of memory while computing."),
    -3: Failure("worker_failed", "The device failed while computing."),
}


def recognise(native_text: str, *, otherwise: Failure) -> Failure:
    """Return what the native messages of a failed load or context mean.

    Args:
        native_text: Warnings and errors since the step began.
        otherwise: Answer when no entry of the table matches.
    """
    return next((failure for words, failure in _TABLE if words in native_text), otherwise)


def of_decode(status: int) -> Failure:
    """Return what a negative return code of `llama_decode` means."""
    return _DECODE.get(status, Failure("worker_failed", f"The engine failed with code {status}."))
