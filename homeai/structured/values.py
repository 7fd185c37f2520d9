"""What a conjunction of schema parts says about types and about listed values."""

from __future__ import annotations

from decimal import Decimal

from homeai.structured.automaton import Automaton, intersect
from homeai.structured.keywords import TYPES_OF, is_number, refuse
from homeai.structured.pattern import pattern_automaton
from homeai.structured.schema_document import Alternative, Part
from homeai.structured.string_formats import format_automaton

ALL_TYPES = frozenset(("null", "boolean", "integer", "fraction", "string", "array", "object"))
"""`number` is `integer` and `fraction`."""


def _types_of_names(names: object) -> frozenset[str]:
    listed = [names] if isinstance(names, str) else list(names)  # type: ignore[call-overload]
    found = frozenset(listed)
    return found - {"number"} | {"integer", "fraction"} if "number" in found else found


def possible_types(parts: Alternative) -> frozenset[str]:
    """Return the types of values that may fit all `parts`, as the specification has it."""
    types = ALL_TYPES
    for part in parts:
        if "type" in part.keywords:
            types &= _types_of_names(part.keywords["type"])
    return types


def generated_types(parts: Alternative) -> frozenset[str]:
    """Return the types of values that are generated for `parts`.

    Where no part names a type, these are the types of which the keywords speak: `{"properties": …}` alone
    also allows any text or number, but nobody means that.
    """
    types = possible_types(parts)
    if any("type" in part.keywords for part in parts):
        return types
    spoken = {name for part in parts for key in part.keywords for name in TYPES_OF.get(key, ())}
    return types & _types_of_names(list(spoken)) if spoken else types


def type_of(value: object) -> str:
    """Return the type of a JSON value, one of `ALL_TYPES`."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int | float):
        return "integer" if value == int(value) else "fraction"
    if isinstance(value, str):
        return "string"
    return "array" if isinstance(value, list) else "object"


def _lists(part: Part) -> list[list[object]]:
    lists = []
    if isinstance(enum := part.keywords.get("enum"), list):
        lists.append(enum)
    if "const" in part.keywords:
        lists.append([part.keywords["const"]])
    return lists


def value_key(value: object) -> str:
    """Return a text that is equal for equal JSON values: 1 = 1.0, true ≠ 1, order of names does not count."""
    if isinstance(value, dict):
        return "{" + ",".join(f"{key!r}:{value_key(value[key])}" for key in sorted(value)) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(value_key, value)) + "]"
    if is_number(value) and value == int(value):  # type: ignore[call-overload]
        return str(int(value))  # type: ignore[call-overload]
    return repr(value)


def decimal(value: object) -> Decimal:
    """Return a JSON number exactly as it was written (0.1 is one tenth)."""
    return Decimal(repr(value))


def length_bounds(parts: Alternative, low: str, high: str) -> tuple[int, int | None]:
    """Return the tightest bounds under keywords `low` and `high` of all parts."""
    lows = [int(part.keywords[low]) for part in parts if low in part.keywords]  # type: ignore[call-overload]
    highs = [int(part.keywords[high]) for part in parts if high in part.keywords]  # type: ignore[call-overload]
    return max(lows, default=0), min(highs, default=None)


class NumberRange:
    """The tightest bounds of numbers under all parts.

    Attributes:
        low: Lower bound or None.
        above: Whether `low` itself is excluded.
        high: Upper bound or None.
        below: Whether `high` itself is excluded.
    """

    def __init__(self, parts: Alternative) -> None:
        self.low: Decimal | None = None
        self.high: Decimal | None = None
        self.above = self.below = False
        for part in parts:
            for key, value in part.keywords.items():
                if key in ("minimum", "exclusiveMinimum"):
                    self._raise(decimal(value), strict=key != "minimum")
                elif key in ("maximum", "exclusiveMaximum"):
                    self._lower(decimal(value), strict=key != "maximum")

    def _raise(self, bound: Decimal, *, strict: bool) -> None:
        if self.low is None or bound > self.low or (bound == self.low and strict):
            self.low, self.above = bound, strict

    def _lower(self, bound: Decimal, *, strict: bool) -> None:
        if self.high is None or bound < self.high or (bound == self.high and strict):
            self.high, self.below = bound, strict

    @property
    def is_open(self) -> bool:
        """Whether there is no bound."""
        return self.low is None and self.high is None

    def contains(self, value: Decimal) -> bool:
        """Return whether `value` is within the bounds."""
        above = self.low is None or value > self.low or (value == self.low and not self.above)
        below = self.high is None or value < self.high or (value == self.high and not self.below)
        return above and below


class Facts:
    """Answers about alternatives of one schema, each worked out once."""

    def __init__(self) -> None:
        self._patterns: dict[tuple[str, str], Automaton] = {}
        self._texts: dict[tuple[str, ...], Automaton | None] = {}
        self._values: dict[tuple[str, ...], list[object] | None] = {}

    def text_automaton(self, parts: Alternative) -> Automaton | None:
        """Return the automaton of `pattern` and `format` of all parts; None = every text.

        Raises:
            InvalidSchema: A pattern that is not supported, or too large in all.
        """
        key = tuple(part.pointer for part in parts)
        if key not in self._texts:
            result: Automaton | None = None
            for part in parts:
                for automaton in self._part_automata(part):
                    result = automaton if result is None else intersect(result, automaton)
            self._texts[key] = result
        return self._texts[key]

    def text_key(self, parts: Alternative) -> tuple[tuple[str, object], ...]:
        """Return what decides on `text_automaton`; equal for equal automata."""
        return tuple(
            (keyword, part.keywords[keyword])
            for part in parts
            for keyword in ("pattern", "format")
            if keyword in part.keywords
        )

    def _part_automata(self, part: Part) -> list[Automaton]:
        found = []
        for keyword, make in (("pattern", pattern_automaton), ("format", format_automaton)):
            if isinstance(text := part.keywords.get(keyword), str):
                if (keyword, text) not in self._patterns:
                    self._patterns[keyword, text] = make(text)
                found.append(self._patterns[keyword, text])
        return found

    def listed_values(self, parts: Alternative) -> list[object] | None:
        """Return the values that `enum` and `const` leave and that fit all other keywords.

        Returns:
            None if nothing is listed.

        Raises:
            InvalidSchema: A listed array or object stands beside keywords for arrays or objects.
        """
        key = tuple(part.pointer for part in parts)
        if key not in self._values:
            self._values[key] = self._find_values(parts)
        return self._values[key]

    def _find_values(self, parts: Alternative) -> list[object] | None:
        lists = [values for part in parts for values in _lists(part)]
        if not lists:
            return None
        types = possible_types(parts)
        allowed = [{value_key(value) for value in values} for values in lists[1:]]
        found: dict[str, object] = {}
        for value in lists[0]:
            key = value_key(value)
            if type_of(value) in types and all(key in keys for keys in allowed):
                found.setdefault(key, value)
        return [value for value in found.values() if self._fits(parts, value)]

    def _fits(self, parts: Alternative, value: object) -> bool:
        if isinstance(value, str):
            automaton = self.text_automaton(parts)
            low, high = length_bounds(parts, "minLength", "maxLength")
            length_fits = low <= len(value) and (high is None or len(value) <= high)
            return length_fits and (automaton is None or automaton.accepts(value))
        if is_number(value):
            return NumberRange(parts).contains(decimal(value))
        kind = type_of(value)
        for part in parts:
            for keyword in part.keywords:
                if kind in TYPES_OF.get(keyword, ()):
                    refuse(
                        part.pointer,
                        f"{keyword} beside an enum or const with an {kind} is not supported",
                    )
        return True
