"""Writes listed values, strings and numbers of a schema as grammar."""

from __future__ import annotations

from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal

from homeai.structured.automaton import counted
from homeai.structured.keywords import refuse
from homeai.structured.notation import json_chars, json_text, plain_chars
from homeai.structured.numbers import DECIMAL_DIGITS, INTEGER_DIGITS, decimals, integers
from homeai.structured.schema_document import Alternative
from homeai.structured.values import Facts, NumberRange, length_bounds
from homeai.structured.writer import MAX_COUNT, Writer


def write_values(writer: Writer, values: list[object]) -> str:
    """Return the item for exactly `values` (not empty), each as compact JSON."""
    return writer.choice("enum", [json_text(value) for value in values])


def write_string(writer: Writer, facts: Facts, parts: Alternative) -> str:
    """Return the item for the JSON strings that fit `parts`.

    Raises:
        InvalidSchema: None does, or the bounds are too large.
    """
    low, high = length_bounds(parts, "minLength", "maxLength")
    pointer = parts[0].pointer
    if high is not None and low > high:
        refuse(pointer, f"minLength {low} is more than maxLength {high}")
    if low > MAX_COUNT:
        refuse(pointer, f"minLength {low}; at most {MAX_COUNT} is supported")
    if facts.text_automaton(parts) is None:
        if low == 0 and high is None:
            return "string"
        return writer.once(("text", low, high), lambda: _plain_string(writer, low, high))
    key = ("text", low, high, facts.text_key(parts))
    return writer.once(key, lambda: _patterned_string(writer, facts, parts))


def _plain_string(writer: Writer, low: int, high: int | None) -> str:
    chars = writer.repeat("char", low, high)
    return writer.define(writer.name("text"), " ".join(('"\\""', chars, '"\\""')))


def _patterned_string(writer: Writer, facts: Facts, parts: Alternative) -> str:
    low, high = length_bounds(parts, "minLength", "maxLength")
    automaton = facts.text_automaton(parts)
    if automaton is None:
        return "string"
    automaton = counted(automaton, low, high)
    if automaton.is_void:
        refuse(parts[0].pointer, "no text fits pattern, format and length together")
    start = writer.automaton("p", automaton, json_chars, end='"\\""')
    return f'"\\"" {start}'


def write_number(writer: Writer, parts: Alternative, *, fractions: bool) -> str:
    """Return the item for the numbers that fit `parts`, with `fractions` also decimals.

    Raises:
        InvalidSchema: None does, or none that is short enough.
    """
    bounds = NumberRange(parts)
    if bounds.is_open:
        return "number" if fractions else "integer"
    key = ("number", fractions, bounds.low, bounds.above, bounds.high, bounds.below)
    return writer.once(key, lambda: _bounded_number(writer, parts, bounds, fractions=fractions))


def _bounded_number(
    writer: Writer, parts: Alternative, bounds: NumberRange, *, fractions: bool
) -> str:
    if fractions:
        automaton = decimals(bounds.low, bounds.high, above=bounds.above, below=bounds.below)
    else:
        automaton = integers(
            _whole(bounds.low, ROUND_CEILING, 1 if bounds.above else 0),
            _whole(bounds.high, ROUND_FLOOR, -1 if bounds.below else 0),
        )
    if automaton.is_void:
        refuse(
            parts[0].pointer,
            f"no {'number' if fractions else 'integer'} of at most "
            f"{DECIMAL_DIGITS if fractions else INTEGER_DIGITS} digits lies between "
            f"{_shown(bounds.low)} and {_shown(bounds.high)}",
        )
    return writer.automaton("n", automaton, plain_chars)


def _whole(bound: Decimal | None, rounding: str, step: int) -> int | None:
    """Return the integer next to `bound` on the allowed side; `step` is added if `bound` is excluded."""
    if bound is None:
        return None
    whole = int(bound.to_integral_value(rounding=rounding))
    return whole + step if whole == bound else whole


def _shown(bound: Decimal | None) -> str:
    return "no bound" if bound is None else f"{bound:.20g}"
