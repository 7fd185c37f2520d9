"""Does the model fit main memory? A first guess from its header, before anything is loaded. Pure."""

from __future__ import annotations

from homeai.domain.errors import RamInsufficient
from homeai.models.facts import ModelFacts

_COMPUTE_BYTES = 64 * 2**20
_PROCESS_BYTES = 64 * 2**20
_KV_ELEMENT_BYTES = {"f16": 2.0, "q8_0": 34 / 32}
_GIB = 2**30


def reserve_bytes(total: int, *, percent: float, least_mib: int) -> int:
    """Memory that is never planned with: the larger of a share and a minimum, in bytes."""
    return max(int(total * percent / 100), least_mib * 2**20)


def ram_problem(
    facts: ModelFacts,
    *,
    tokens: int,
    kv_type: str,
    available: int,
    reserve: int,
) -> RamInsufficient | None:
    """Return why the model should not be loaded, or None.

    Args:
        facts: From the header.
        tokens: Context of all sequences together.
        kv_type: `f16` | `q8_0`.
        available: Bytes free now.
        reserve: Bytes to leave free.
    """
    kv = facts.kv_bytes(tokens, bytes_per_element=_KV_ELEMENT_BYTES[kv_type]) or 0
    need = facts.size_bytes + kv + _COMPUTE_BYTES + _PROCESS_BYTES
    if need <= available - reserve:
        return None
    text = (
        f"The model needs about {need / _GIB:.1f} GiB of memory for {tokens} tokens of context; "
        f"{available / _GIB:.1f} GiB are free and {reserve / _GIB:.1f} GiB are kept for other programs. "
        "Lower limits.context_tokens or limits.concurrency, or choose a smaller model."
    )
    details: dict[str, object] = {"need_bytes": need, "available_bytes": available}
    return RamInsufficient(text, details=details)
