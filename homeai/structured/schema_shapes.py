"""What all parts of an alternative together say about objects and arrays."""

from __future__ import annotations

from typing import Protocol

from homeai.structured.keywords import refuse
from homeai.structured.schema_document import Alternative, Place
from homeai.structured.values import length_bounds
from homeai.structured.writer import Writer


class RuleMaker(Protocol):
    """Makes rules for schemas; what writes arrays and objects asks it for their members."""

    writer: Writer

    def rule(self, places: tuple[Place, ...]) -> str | None:
        """Return the name of the rule for values that fit all `places`, or None if none does."""
        ...


class ObjectShape:
    """Properties of the objects that fit all parts.

    Attributes:
        names: Declared names in the order of their declaration, then names that are only required.
        required: Names that must be there.
        low: Least number of properties.
        high: Most, None = no bound.
        additional: What every undeclared property must fit; None = no part says anything of them.
    """

    def __init__(self, parts: Alternative) -> None:
        self._parts = parts
        self._declared: list[dict[str, object]] = []
        names: dict[str, None] = {}
        required: dict[str, None] = {}
        for part in parts:
            properties = part.keywords.get("properties")
            declared = properties if isinstance(properties, dict) else {}
            self._declared.append(declared)
            names.update(dict.fromkeys(declared))
            listed = part.keywords.get("required")
            required.update(dict.fromkeys(listed if isinstance(listed, list) else ()))
        self.names = list(names | required)
        self.required = list(required)
        self.low, self.high = length_bounds(parts, "minProperties", "maxProperties")
        bounds = [
            part.place.at("additionalProperties")
            for part in parts
            if "additionalProperties" in part.keywords
        ]
        self.additional = tuple(bounds) if bounds else None

    def places(self, name: str) -> tuple[Place, ...]:
        """Return the schemas that a property `name` must fit; none = any value."""
        found = []
        for part, declared in zip(self._parts, self._declared, strict=True):
            if name in declared:
                found.append(part.place.at("properties", name))
            elif "additionalProperties" in part.keywords:
                found.append(part.place.at("additionalProperties"))
        return tuple(found)


class ArrayShape:
    """Items of the arrays that fit all parts.

    Attributes:
        prefix: Number of leading items with schemas of their own.
        low: Least number of items.
        high: Most, None = no bound.
    """

    def __init__(self, parts: Alternative) -> None:
        self._parts = parts
        self.low, self.high = length_bounds(parts, "minItems", "maxItems")
        self.prefix = max((_prefix_length(part.keywords) for part in parts), default=0)
        if self.high is not None and self.low > self.high:
            refuse(parts[0].pointer, f"minItems {self.low} is more than maxItems {self.high}")

    def places(self, index: int) -> tuple[Place, ...]:
        """Return the schemas that item `index` must fit; all from `prefix` on are alike."""
        found = []
        for part in self._parts:
            if index < _prefix_length(part.keywords):
                found.append(part.place.at("prefixItems", index))
            elif "items" in part.keywords:
                found.append(part.place.at("items"))
        return tuple(found)


def _prefix_length(keywords: dict[str, object]) -> int:
    prefix = keywords.get("prefixItems")
    return len(prefix) if isinstance(prefix, list) else 0
