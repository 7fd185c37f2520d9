"""Writes the arrays of a schema as grammar."""

from __future__ import annotations

from homeai.structured.keywords import refuse
from homeai.structured.schema_document import Alternative
from homeai.structured.schema_shapes import ArrayShape, RuleMaker
from homeai.structured.writer import MAX_COUNT

_MAX_PREFIX = 1000


def write_array(compiler: RuleMaker, parts: Alternative) -> str:
    """Return the item for the JSON arrays that fit `parts`.

    Raises:
        InvalidSchema: None does, or the bounds are too large.
    """
    shape = ArrayShape(parts)
    pointer = parts[0].pointer
    if shape.low > MAX_COUNT:
        refuse(pointer, f"minItems {shape.low}; at most {MAX_COUNT} is supported")
    if shape.prefix > _MAX_PREFIX:
        refuse(
            pointer, f"prefixItems has {shape.prefix} entries; at most {_MAX_PREFIX} are supported"
        )
    leading: list[str] = []
    high = shape.high
    for index in range(shape.prefix):
        item = compiler.rule(shape.places(index))
        if item is None:
            high = index if high is None else min(high, index)
            break
        leading.append(item)
    rest = compiler.rule(shape.places(shape.prefix)) if len(leading) == shape.prefix else None
    if rest is None:
        high = len(leading) if high is None else min(high, len(leading))
    if high is not None and shape.low > high:
        refuse(pointer, f"at least {shape.low} items are wanted, but at most {high} can fit")
    return _written(compiler, leading, rest, shape.low, high)


def _written(
    compiler: RuleMaker, leading: list[str], rest: str | None, low: int, high: int | None
) -> str:
    writer = compiler.writer
    if high is not None:
        leading = leading[:high]
    # From the end to the beginning: what may stand behind the first n items.
    behind = 'ws "]"'
    count = len(leading)
    if rest is not None and (high is None or high > count):
        least = max(0, low - count)
        most = None if high is None else high - count
        if count == 0:
            more = _repeated(compiler, rest, max(0, least - 1), None if most is None else most - 1)
            full = " ".join(part for part in (rest, more, behind) if part)
            return _bracketed(full, empty=low == 0)
        behind = " ".join(part for part in (_repeated(compiler, rest, least, most), behind) if part)
    for index in range(count - 1, 0, -1):
        following = f'"," ws {leading[index]} {behind}'
        # Here `index` items stand before; the array may end unless more are wanted.
        if index >= low:
            following = f'{following} | ws "]"'
        behind = writer.define(writer.name("items"), following)
    if not leading:
        return '"[" ws "]"'
    return _bracketed(f"{leading[0]} {behind}", empty=low == 0)


def _bracketed(body: str, *, empty: bool) -> str:
    return f'"[" ws ("]" | {body})' if empty else f'"[" ws {body}'


def _repeated(compiler: RuleMaker, item: str, low: int, high: int | None) -> str:
    if high == 0:
        return ""
    writer = compiler.writer
    return writer.repeat(writer.define(writer.name("next"), f'"," ws {item}'), low, high)
