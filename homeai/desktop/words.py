"""The sentences for each state, in the user's language."""

from __future__ import annotations

from PySide6.QtCore import QLocale, QObject

from homeai.desktop.states import Look, Summary


class Words(QObject):
    """Turns a summary into words."""

    def state(self, summary: Summary) -> str:
        """One line for the window and the tooltip."""
        if summary.look is Look.STOPPED:
            return self.tr("The service is not running")
        if summary.look is Look.ERROR:
            return summary.problem
        if summary.look is Look.LOADING:
            if summary.progress is None:
                return self.tr("Starting…")
            percent = QLocale().toString(round(summary.progress * 100))
            return self.tr("Loading the model: {percent} %").format(percent=percent)
        if summary.degraded:
            return self.tr("Degraded: CPU · {model}").format(model=summary.model)
        if summary.look is Look.WORKING:
            return self.tr("Answering · {model}").format(model=summary.model)
        return self.tr("Ready · {model}").format(model=summary.model)

    def tiny(self, model: str) -> str:
        """Said plainly when the model is too small for real work."""
        return self.tr(
            "{model} is a tiny starter model: quick to try, but often wrong. "
            "Add a larger one with “homeai models add”."
        ).format(model=model)

    def position(self, position: int) -> str:
        """Where a request stands in line."""
        if position == 0:
            return self.tr("Waiting: next in line")
        number = QLocale().toString(position)
        return self.tr("Waiting: {number} ahead").format(number=number)

    def degraded(self, facts: dict[str, object]) -> str:
        """A worker failed under an answer: who goes on, and how long that takes."""
        estimate = facts.get("estimate_ms")
        likely_ms = estimate.get("p50") if isinstance(estimate, dict) else None
        only_cpu = facts.get("failed") == "cpu"
        if not isinstance(likely_ms, int | float):
            if only_cpu:
                return self.tr("The engine failed; it starts again and goes on.")
            return self.tr("The GPU failed; the CPU goes on.")
        seconds = QLocale().toString(max(likely_ms / 1000, 1.0), "f", 0)
        if only_cpu:
            return self.tr(
                "The engine failed; it starts again, goes on and needs about {seconds} s."
            ).format(seconds=seconds)
        return self.tr("The GPU failed; the CPU goes on and needs about {seconds} s.").format(
            seconds=seconds
        )

    def device(self, facts: dict[str, object], tokens_s: float | None) -> str:
        """Where an answer came from, and how fast."""
        where = self.tr("on the GPU") if facts.get("device") == "gpu" else self.tr("on the CPU")
        if facts.get("degraded"):
            where = self.tr("on the CPU, since the GPU failed")
        if tokens_s is None:
            return where
        speed = QLocale().toString(tokens_s, "f", 1)
        return self.tr("{where}, {speed} tokens per second").format(where=where, speed=speed)
