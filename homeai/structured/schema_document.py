"""One JSON schema as a document: bounded, addressed by pointers, and taken apart into plain conjunctions.

`$ref`, `allOf`, `anyOf` and `oneOf` are resolved here: a schema becomes a list of alternatives, and each
alternative a list of parts that must all hold. A part is a schema object of which only its plain
keywords count. Parts are known by their pointer, so recursion stays finite.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from urllib.parse import unquote

from homeai.domain.errors import InvalidSchema
from homeai.structured.keywords import TYPES_OF, check_keywords, escaped, refuse, shown

MAX_BYTES = 256 * 1024
MAX_DEPTH = 64
MAX_ALTERNATIVES = 512
_MAX_HOPS = 48
_MAX_INT_BITS = 1024
_MAX_WORK = 300_000
"""Combinations of alternatives formed in all, about 1 µs each."""


@dataclass(frozen=True, slots=True)
class Place:
    """A schema and where it stands in the document, as a JSON pointer that begins with `#`."""

    schema: object
    pointer: str

    def at(self, *steps: str | int) -> Place:
        """Return what stands `steps` below."""
        schema = self.schema
        pointer = self.pointer
        for step in steps:
            schema = schema[step]  # type: ignore[index]
            pointer += f"/{escaped(str(step))}"
        return Place(schema, pointer)


@dataclass(frozen=True, slots=True)
class Part:
    """A schema object whose plain keywords (not `$ref`, `allOf`, `anyOf`, `oneOf`) hold."""

    keywords: dict[str, object]
    pointer: str

    @property
    def place(self) -> Place:
        """The part as a place, to address what stands in it."""
        return Place(self.keywords, self.pointer)


Alternative = tuple[Part, ...]


class SchemaDocument:
    """A schema that passed the checks of size and depth.

    Args:
        schema: What the client sent, as parsed JSON.

    Raises:
        InvalidSchema: Too large, too deep, or not JSON.
    """

    def __init__(self, schema: object) -> None:
        _check_size(schema)
        self.root = Place(schema, "#")
        self.one_ofs: list[tuple[Place, list[list[Alternative]]]] = []
        """Every `oneOf` met so far, with the alternatives of each option; not yet known to be disjoint."""
        self._expanded: dict[str, list[Alternative]] = {}
        self._work = 0

    def expand(self, places: tuple[Place, ...]) -> list[Alternative]:
        """Return the alternatives of a text that fits all of `places`; none = nothing fits.

        Raises:
            InvalidSchema: A keyword that is not supported, a bad reference, too many alternatives.
        """
        return self._all_of([self._expand(place, ()) for place in places], places)

    def _all_of(
        self, groups: list[list[Alternative]], places: tuple[Place, ...]
    ) -> list[Alternative]:
        result: list[Alternative] = [()]
        for group in groups:
            self.count_work(len(result) * len(group) + 1, places[0])
            if len(result) * len(group) > MAX_ALTERNATIVES:
                refuse(places[0].pointer, f"more than {MAX_ALTERNATIVES} alternatives combine here")
            result = [_joined(one, other) for one in result for other in group]
        return result

    def _expand(self, place: Place, path: tuple[str, ...]) -> list[Alternative]:
        known = self._expanded.get(place.pointer)
        if known is not None:
            return known
        if place.pointer in path:
            refuse(place.pointer, "refers to itself with nothing in between")
        if len(path) > _MAX_HOPS:
            refuse(place.pointer, f"more than {_MAX_HOPS} references or combinations in a row")
        result = self._expanded[place.pointer] = self._expand_new(place, (*path, place.pointer))
        return result

    def _expand_new(self, place: Place, path: tuple[str, ...]) -> list[Alternative]:
        schema = place.schema
        if isinstance(schema, bool):
            return [()] if schema else []
        if not isinstance(schema, dict):
            refuse(place.pointer, f"a schema is an object, true or false, not {shown(schema)}")
        check_keywords(schema, place.pointer)
        plain: Alternative = ()
        if any(key in TYPES_OF or key in ("type", "enum", "const") for key in schema):
            plain = (Part(schema, place.pointer),)
        groups: list[list[Alternative]] = [[plain]]
        if "$ref" in schema:
            groups.append(self._expand(self.resolve(str(schema["$ref"]), place.pointer), path))
        groups += [
            self._expand(place.at("allOf", number), path)
            for number in range(_length(schema, "allOf"))
        ]
        for key in ("anyOf", "oneOf"):
            if key in schema:
                options = [
                    self._expand(place.at(key, number), path)
                    for number in range(_length(schema, key))
                ]
                if key == "oneOf":
                    self.one_ofs.append(
                        (place, [[_joined(plain, part) for part in option] for option in options])
                    )
                groups.append(_distinct([part for option in options for part in option]))
        return self._all_of(groups, (place,))

    def resolve(self, reference: str, pointer: str) -> Place:
        """Return what `reference`, which stands at `pointer`, refers to.

        Raises:
            InvalidSchema: It leads out of the document or to nothing.
        """
        if reference != "#" and not reference.startswith("#/"):
            refuse(
                pointer, f"$ref {shown(reference)}: only references within the schema (#/…) work"
            )
        place = self.root
        for raw in unquote(reference).split("/")[1:]:
            step = raw.replace("~1", "/").replace("~0", "~")
            schema = place.schema
            if isinstance(schema, dict) and step in schema:
                place = place.at(step)
            elif isinstance(schema, list) and step.isdecimal() and int(step[:9]) < len(schema):
                place = place.at(int(step))
            else:
                refuse(pointer, f"$ref {shown(reference)} leads to nothing")
        return place

    def count_work(self, steps: int, place: Place) -> None:
        """Give up once the schema has cost too much.

        Raises:
            InvalidSchema: More than a fixed number of steps in all.
        """
        self._work += steps
        if self._work > _MAX_WORK:
            refuse(place.pointer, "the schema combines too many alternatives")


def _length(schema: dict[str, object], key: str) -> int:
    value = schema.get(key, ())
    return len(value) if isinstance(value, list) else 0


def _joined(one: Alternative, other: Alternative) -> Alternative:
    pointers = {part.pointer for part in one}
    return one + tuple(part for part in other if part.pointer not in pointers)


def _distinct(alternatives: list[Alternative]) -> list[Alternative]:
    return list({tuple(part.pointer for part in a): a for a in alternatives}.values())


def _check_size(schema: object) -> None:
    """Refuse what is too large or deep to work on, before anything recurses into it."""
    size = 0
    todo: list[tuple[object, int]] = [(schema, 1)]
    while todo:
        value, depth = todo.pop()
        if depth > MAX_DEPTH:
            raise InvalidSchema(f"the schema is nested deeper than {MAX_DEPTH} levels")
        if isinstance(value, dict):
            for key, below in value.items():
                size += _text_size(key) + 4
                todo.append((below, depth + 1))
        elif isinstance(value, list):
            size += 2 * len(value)
            todo.extend((below, depth + 1) for below in value)
        else:
            size += _scalar_size(value)
        if size > MAX_BYTES:
            raise InvalidSchema(f"the schema is larger than {MAX_BYTES} bytes")


def _scalar_size(value: object) -> int:
    if isinstance(value, str):
        return _text_size(value) + 2
    if value is None or isinstance(value, bool):
        return 5
    if isinstance(value, int) and value.bit_length() <= _MAX_INT_BITS:
        return 1 + value.bit_length() // 3
    if isinstance(value, float) and math.isfinite(value):
        return 20
    raise InvalidSchema(
        f"the schema holds {type(value).__name__} where a finite JSON number, text, true, false or null "
        "is allowed"
        if not isinstance(value, int)
        else f"the schema holds an integer of more than {_MAX_INT_BITS} bits"
    )


def _text_size(text: object) -> int:
    if not isinstance(text, str):
        raise InvalidSchema(f"the schema has a key of type {type(text).__name__}; keys are texts")
    try:
        return len(text.encode())
    except UnicodeEncodeError:
        raise InvalidSchema(
            "the schema holds half a surrogate pair, which is no character"
        ) from None
