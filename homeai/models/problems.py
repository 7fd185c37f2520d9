"""What can be wrong with a model file, as one error with a code and a sentence."""

from __future__ import annotations

import mmap
import re


class ModelFileError(Exception):
    """A file that is no usable model.

    Attributes:
        code: not_gguf, truncated, damaged, unsupported_version, big_endian, unknown_architecture,
            split_incomplete, not_a_model, no_vocabulary, unreadable.
        message: One sentence for the user; names no folder.
    """

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code, self.message = code, message


_LOOKS_LIKE: tuple[tuple[bytes, str], ...] = (
    (rb"version https://git-lfs", "a Git LFS pointer: the real file was not downloaded"),
    (
        rb"\s*<(!doctype|html|\?xml)",
        "a web page: the download gave an error page instead of a file",
    ),
    (rb"PK\x03\x04", "a ZIP or PyTorch archive; a GGUF file is needed"),
    (rb"\x80[\x02-\x05]", "a Python pickle; a GGUF file is needed"),
    (rb"\x1f\x8b|7z\xbc\xaf|\xfd7zXZ|\x28\xb5\x2f\xfd", "a compressed archive: unpack it first"),
    (rb".{8}\{\s*\"", "a safetensors file; a GGUF file is needed"),
    (rb"\s*\{", "a JSON text; a GGUF file is needed"),
    (rb"ggjt|ggml|tjgg|lmgg", "a model in the old GGML format, which is no longer supported"),
    (rb"\x00{16}", "a file of zeros: the download did not fill it"),
)


def not_gguf(head: bytes) -> ModelFileError:
    """Say what a file without GGUF's magic seems to be.

    Args:
        head: Its first bytes.
    """
    if not head:
        return ModelFileError("not_gguf", "The file is empty.")
    for pattern, words in _LOOKS_LIKE:
        if re.match(pattern, head, re.IGNORECASE | re.DOTALL):
            return ModelFileError("not_gguf", f"The file is {words}.")
    return ModelFileError("not_gguf", "The file is no GGUF model: its first bytes are not 'GGUF'.")


def zero_region(data: mmap.mmap | bytes, start: int, size: int) -> bool:
    """Whether three samples of a tensor's bytes are all zero, as in a half-written download.

    Args:
        data: The file.
        start: First byte of the tensor.
        size: Its bytes; small tensors may honestly be zero and are not judged.
    """
    sample = 4096
    if size < 16 * sample:
        return False
    offsets = (start + size // 4, start + size // 2, start + size - sample)
    return not any(any(data[offset : offset + sample]) for offset in offsets)
