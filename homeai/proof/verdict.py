"""What the proof found: promises, each held or not, with what was seen."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from homeai.proof.client import Seen


@dataclass(frozen=True, slots=True)
class Check:
    """One promise.

    Attributes:
        promise: A sentence.
        held: None = it could not be tried here; `seen` says why.
        seen: What was seen.
    """

    promise: str
    held: bool | None
    seen: str = ""


@dataclass
class Scene:
    """One scenario.

    Attributes:
        title: What was done.
        requests: What clients saw.
        facts: First failure, decision, gap ….
    """

    name: str
    title: str
    checks: list[Check] = field(default_factory=list)
    requests: list[Seen] = field(default_factory=list)
    facts: dict[str, Any] = field(default_factory=dict)
    seconds: float = 0.0

    def expect(self, promise: str, held: bool, seen: object = "") -> None:  # noqa: FBT001 -- the finding itself
        """Note whether a promise held."""
        self.checks.append(Check(promise, held, str(seen)))

    def skip(self, promise: str, why: str) -> None:
        """Note that a promise could not be tried here."""
        self.checks.append(Check(promise, None, why))

    @property
    def held(self) -> bool:
        """Whether no promise was broken."""
        return all(check.held is not False for check in self.checks)

    def body(self) -> dict[str, Any]:
        """For the JSON report."""
        return {
            "name": self.name,
            "title": self.title,
            "held": self.held,
            "seconds": round(self.seconds, 2),
            "facts": self.facts,
            "checks": [{"promise": c.promise, "held": c.held, "seen": c.seen} for c in self.checks],
            "requests": [_request(seen) for seen in self.requests],
        }


@dataclass
class Report:
    """The whole proof."""

    device: str
    machine: dict[str, Any]
    scenes: list[Scene] = field(default_factory=list)

    @property
    def held(self) -> bool:
        """Whether every promise that could be tried held."""
        return bool(self.scenes) and all(scene.held for scene in self.scenes)

    def body(self) -> dict[str, Any]:
        """For the JSON report."""
        return {
            "held": self.held,
            "device": self.device,
            "machine": self.machine,
            "scenes": [scene.body() for scene in self.scenes],
        }


def _request(seen: Seen) -> dict[str, Any]:
    gap = seen.gap_s
    return {
        "request_id": seen.name,
        "status": seen.status,
        "error": None if seen.error is None else seen.error.get("code"),
        "output_sha256": seen.output_sha256,
        "attempts": seen.facts.get("attempts", []),
        "connections": seen.connections,
        "gap_ms": None if gap is None else round(gap * 1000),
        "cpu_started_at_ms": _ms(seen.degraded_at),
        "tokens_at_ms": [round(at * 1000) for at in seen.tokens_at],
        "ended_at_ms": _ms(seen.ended_at),
    }


def _ms(seconds: float | None) -> int | None:
    return None if seconds is None else round(seconds * 1000)
