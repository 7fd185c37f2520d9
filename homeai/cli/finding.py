"""What one check of `homeai doctor` found."""

from __future__ import annotations

from dataclasses import asdict, dataclass


@dataclass(frozen=True, slots=True)
class Finding:
    """Result of one check.

    Attributes:
        name: What was checked.
        verdict: ok | warn | fail.
        text: What was found.
        remedy: What to do; never empty unless all is well.
    """

    name: str
    verdict: str
    text: str
    remedy: str = ""

    def as_dict(self) -> dict[str, str]:
        """For JSON."""
        return asdict(self)
