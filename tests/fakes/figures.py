"""Figures as Prometheus would read them."""

from __future__ import annotations

from prometheus_client.openmetrics.parser import text_string_to_metric_families as open_families
from prometheus_client.parser import text_string_to_metric_families as families


def read(text: str, *, openmetrics: bool = False) -> dict[str, float]:
    """Samples by name and labels, as `name{label="value"}`, labels in the order of the alphabet."""
    found = {}
    for family in (open_families if openmetrics else families)(text):
        for sample in family.samples:
            labels = ",".join(f'{name}="{value}"' for name, value in sorted(sample.labels.items()))
            found[f"{sample.name}{{{labels}}}" if labels else sample.name] = sample.value
    return found
