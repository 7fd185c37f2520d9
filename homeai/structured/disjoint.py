"""Proves that no value fits two alternatives of a `oneOf`."""

from __future__ import annotations

from homeai.structured.schema_document import Alternative, Place, SchemaDocument
from homeai.structured.schema_shapes import ObjectShape
from homeai.structured.values import Facts, possible_types, type_of, value_key

_MAX_DEPTH = 4
_MAX_PAIRS = 256


class Disjointness:
    """Proofs over one schema.

    Args:
        document: The schema.
        facts: What is known of its parts.
    """

    def __init__(self, document: SchemaDocument, facts: Facts) -> None:
        self._document = document
        self._facts = facts

    def never_both(self, one: Alternative, other: Alternative, depth: int = 0) -> bool:
        """Return True if it is certain that no value fits both."""
        shared = self._types(one) & self._types(other)
        if not shared:
            return True
        if self._values_differ(one, other):
            return True
        return shared == {"object"} and self._objects_differ(one, other, depth)

    def _types(self, parts: Alternative) -> frozenset[str]:
        values = self._facts.listed_values(parts)
        return possible_types(parts) if values is None else frozenset(map(type_of, values))

    def _values_differ(self, one: Alternative, other: Alternative) -> bool:
        first, second = self._facts.listed_values(one), self._facts.listed_values(other)
        if first is None or second is None:
            return False
        return not {value_key(value) for value in first} & {value_key(value) for value in second}

    def _objects_differ(self, one: Alternative, other: Alternative, depth: int) -> bool:
        """A required property that cannot fit both tells the objects apart."""
        if depth >= _MAX_DEPTH:
            return False
        first, second = ObjectShape(one), ObjectShape(other)
        for shape, others in ((first, second), (second, first)):
            for name in shape.required:
                there = others.places(name)
                here = shape.places(name)
                if self._places_differ(here, there, depth):
                    return True
        return False

    def _places_differ(self, here: tuple[Place, ...], there: tuple[Place, ...], depth: int) -> bool:
        one, other = self._document.expand(here), self._document.expand(there)
        if len(one) * len(other) > _MAX_PAIRS:
            return False
        return all(self.never_both(a, b, depth + 1) for a in one for b in other)
