"""The model that is served: which it is, whether its file can be used, and whether it fits main memory."""

from __future__ import annotations

from pathlib import Path

from homeai.domain.errors import HomeAIError, ModelInvalid, ModelNotFound
from homeai.hardware import ram
from homeai.models.catalogue import Catalogue, ModelEntry
from homeai.service import need
from homeai.settings.schema import Settings


class ActiveModel:
    """The active model.

    Args:
        settings: Values in force.
        catalogue: All models.
        wanted: Name or file; empty lets homeai choose.

    Attributes:
        entry: The model; None until `choose` found one.
        weights_sha256: Recorded hash of its file, if there is one.
    """

    def __init__(self, settings: Settings, catalogue: Catalogue, wanted: str) -> None:
        self._settings, self._catalogue, self._wanted = settings, catalogue, wanted
        self.entry: ModelEntry | None = None
        self.weights_sha256: str | None = None

    def choose(self) -> HomeAIError | None:
        """Find it; returns why it cannot be used, or None."""
        entry = self._catalogue.choose(self._wanted)
        if entry is None:
            if self._wanted:
                name = Path(self._wanted).name
                return ModelNotFound(f"There is no model {name!r}. `homeai models list` shows all.")
            return ModelNotFound("There is no model yet. Add one with `homeai models add FILE`.")
        self.entry = entry
        self.weights_sha256 = self._catalogue.recorded_hash(entry)
        if entry.facts is None:
            reason = entry.problem.message if entry.problem else "It cannot be read."
            return ModelInvalid(f"The model {entry.name} cannot be used. {reason}")
        return None

    def is_not(self, wanted: str) -> ModelNotFound | None:
        """Return the error for a request that asks for another model, or None."""
        active = self.entry.name if self.entry else ""
        if wanted in ("", active, f"{active}.gguf"):
            return None
        text = f"The model {wanted[:100]!r} is not served; the active model is {active!r}."
        return ModelNotFound(text, param="model")

    def usable(self) -> list[ModelEntry]:
        """The model as a list, empty if there is none that can be asked for."""
        return [self.entry] if self.entry is not None and self.entry.facts is not None else []

    def context_tokens(self, asked: int) -> int:
        """What a sequence may hold: what was asked for, at most what it was trained for."""
        facts = self.entry.facts if self.entry else None
        trained = facts.context_tokens if facts else None
        return asked if trained is None else min(asked, trained)

    @property
    def kv_type(self) -> str:
        """Type of the KV cache's elements."""
        exact = self._settings.engine.profile == "exact"
        return "q8_0" if exact else self._settings.memory.kv_type

    def reserve_bytes(self, total: int) -> int:
        """Main memory that is never planned with, of `total` bytes."""
        memory = self._settings.memory
        return need.reserve_bytes(
            total, percent=memory.ram_reserve_percent, least_mib=memory.ram_reserve_min_mib
        )

    def ram_problem(self, tokens: int) -> HomeAIError | None:
        """Why a CPU worker that is not loaded yet does not fit the memory that is free now.

        Args:
            tokens: Context of all its sequences together.
        """
        if self.entry is None or self.entry.facts is None:
            return None
        memory = ram.probe()
        return need.ram_problem(
            self.entry.facts,
            tokens=tokens,
            kv_type=self.kv_type,
            available=memory.available_bytes,
            reserve=self.reserve_bytes(memory.total_bytes),
        )
