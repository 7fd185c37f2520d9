"""Is the file what it should be? SHA-256 of files, and the hashes that are known."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

_CHUNK_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class KnownModel:
    """A model this project knows by hash.

    Attributes:
        name: File name.
        licence: SPDX identifier.
        tiny: Too small for real work; said to the user.
    """

    name: str
    licence: str
    tiny: bool


KNOWN: dict[str, KnownModel] = {
    "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53": KnownModel(
        "SmolLM2-135M-Instruct.Q4_1.gguf", "Apache-2.0", tiny=True
    ),
}
"""By SHA-256."""

TINY_PARAMETERS = 500_000_000
"""Models below are called tiny: they answer, but are often wrong."""


class HashCancelled(Exception):
    """The progress callback asked to stop."""


def sha256(path: Path, progress: Callable[[float], bool] | None = None) -> str:
    """Return the hex digest of a file.

    Args:
        path: The file.
        progress: Called with 0..1; returning False stops.

    Raises:
        HashCancelled: Stopped by `progress`.
        OSError: The file cannot be read.
    """
    digest, done, size = hashlib.sha256(), 0, max(path.stat().st_size, 1)
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK_BYTES):
            digest.update(chunk)
            done += len(chunk)
            if progress is not None and not progress(done / size):
                raise HashCancelled
    return digest.hexdigest()
