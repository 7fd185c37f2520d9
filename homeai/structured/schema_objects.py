"""Writes the objects of a schema as grammar."""

from __future__ import annotations

from homeai.structured.automaton import excluding
from homeai.structured.keywords import refuse, shown
from homeai.structured.notation import json_chars, json_text, literal
from homeai.structured.schema_document import Alternative
from homeai.structured.schema_shapes import ObjectShape, RuleMaker

_END = 'ws "}"'


def write_object(compiler: RuleMaker, parts: Alternative) -> str:
    """Return the item for the JSON objects that fit `parts`.

    Raises:
        InvalidSchema: None does.
    """
    return _ObjectWriter(compiler, parts).write()


class _ObjectWriter:
    """One object.

    Entries come in a fixed order. `_entries(i, n)` is the rule for "at least one more entry, from
    declared property i on, with n entries so far"; it ends with the closing brace.
    """

    def __init__(self, compiler: RuleMaker, parts: Alternative) -> None:
        self._compiler = compiler
        self._writer = compiler.writer
        self._pointer = parts[0].pointer
        self._shape = ObjectShape(parts)
        self._required = frozenset(self._shape.required)
        self._pairs = self._declared_pairs()
        self._extra = self._extra_pair()
        self._more: str | None = None
        self._low, self._high = self._shape.low, self._shape.high
        self._check_bounds()

    def _declared_pairs(self) -> list[tuple[str, bool]]:
        """Return for each property that can be there its rule and whether it must be there."""
        pairs = []
        for name in self._shape.names:
            value = self._compiler.rule(self._shape.places(name))
            needed = name in self._required
            if value is not None:
                key = literal(json_text(name) + ":")
                pairs.append((f"{key} sp {value}", needed))
            elif needed:
                refuse(self._pointer, f"the required property {shown(name)} can have no value")
        return pairs

    def _extra_pair(self) -> str | None:
        """Return the rule for an undeclared property, None if there can be none."""
        shape = self._shape
        if shape.additional is None and shape.names:
            return None
        value = "value" if shape.additional is None else self._compiler.rule(shape.additional)
        if value is None:
            return None
        writer = self._writer
        if not shape.names:
            return writer.define(writer.name("pair"), f'string ":" sp {value}')
        # Names are written without escapes here, so that none can be a declared one in disguise.
        key = writer.automaton("key", excluding(shape.names), json_chars, end='"\\""')
        return writer.define(writer.name("pair"), f'"\\"" {key} ":" sp {value}')

    def _check_bounds(self) -> None:
        low, high = self._shape.low, self._shape.high
        needed = sum(must for _, must in self._pairs)
        # The same undeclared name may come twice, so only one of them is sure to count.
        possible = len(self._pairs) + (1 if self._extra else 0)
        if low > possible:
            refuse(
                self._pointer,
                f"minProperties {low} is more than the {possible} properties that can be told apart",
            )
        if high is not None and needed > high:
            refuse(
                self._pointer, f"maxProperties {high} is less than the {needed} required properties"
            )

    def write(self) -> str:
        """Write the rules; return the item for the whole object."""
        low, high = self._shape.low, self._shape.high
        needed = sum(must for _, must in self._pairs)
        counts = low > needed or (
            high is not None and (self._extra is not None or high < len(self._pairs))
        )
        # Without a need to count, all states have the same count, 0, and no bounds.
        self._low, self._high = (low, high) if counts else (0, None)
        entries = self._all_entries(counts=counts)
        if needed == 0 and low == 0:
            return f'"{{" ws ("}}" | {entries})' if entries else '"{" ws "}"'
        if entries is None:
            refuse(
                self._pointer, "no object fits required, minProperties and maxProperties together"
            )
        return f'"{{" ws {entries}'

    def _all_entries(self, *, counts: bool) -> str | None:
        """Write the rules from the last property to the first; return the one to begin with."""
        last = len(self._pairs)
        after = [self._extras(count) for count in range(last + 1 if counts else 1)]
        needed_after = 0
        for index in range(last - 1, -1, -1):
            here: list[str | None] = []
            for count in range(index + 1 if counts else 1):
                following = count + 1 if counts else 0
                tail = self._tail(after[following], following, needed=needed_after > 0)
                here.append(self._entries(index, count, tail, after[count]))
            needed_after += self._pairs[index][1]
            after = here
        return after[0]

    def _entries(self, index: int, count: int, tail: str | None, later: str | None) -> str | None:
        pair, needed = self._pairs[index]
        ways = []
        if tail is not None and (self._high is None or count < self._high):
            ways.append(f"{pair} {tail}")
        if later is not None and not needed:
            ways.append(later)
        if not ways:
            return None
        return self._writer.define(self._writer.name("o"), " | ".join(ways))

    def _tail(self, entries: str | None, count: int, *, needed: bool) -> str | None:
        """Return what follows an entry: a comma and more, or the end."""
        ways = [] if entries is None else [f'"," ws {entries}']
        if not needed and count >= self._low:
            ways.append(_END)
        if len(ways) < 2:
            return ways[0] if ways else None
        return self._writer.define(self._writer.name("t"), " | ".join(ways))

    def _extras(self, count: int) -> str | None:
        """Return the rule for one or more undeclared properties and the end."""
        if self._extra is None or count + 1 < self._low:
            return None
        if self._high is not None and count >= self._high:
            return None
        most = None if self._high is None else self._high - count - 1
        if self._more is None:
            self._more = self._writer.define(self._writer.name("next"), f'"," ws {self._extra}')
        more = "" if most == 0 else self._writer.repeat(self._more, 0, most)
        return self._writer.define(self._writer.name("extra"), " ".join((self._extra, more, _END)))
