"""JSON Schema → GBNF. Every text of the grammar is an instance of the schema; nothing is ignored.

Draft 2020-12, the keywords of `homeai.structured.keywords`. Where a schema allows more than a grammar can
sensibly produce, the grammar produces a part of it:

- properties come in the order of their declaration, each at most once; an object that declares properties
  gets others only if `additionalProperties` says so;
- integers have at most 18 digits, decimals 15 before the point, and 15 in all where bounds are near;
- blanks are bounded; characters are written as themselves or with their usual escape.

What cannot be kept exactly is refused with the JSON pointer, what was given and what is allowed.
"""

from __future__ import annotations

from collections import deque

from homeai.domain.errors import InvalidSchema
from homeai.structured import analysis
from homeai.structured.disjoint import Disjointness
from homeai.structured.gbnf import analysed
from homeai.structured.grammar import Grammar
from homeai.structured.keywords import refuse
from homeai.structured.limits import GENERATED
from homeai.structured.schema_arrays import write_array
from homeai.structured.schema_document import Alternative, Place, SchemaDocument
from homeai.structured.schema_objects import write_object
from homeai.structured.schema_scalars import write_number, write_string, write_values
from homeai.structured.values import Facts, generated_types
from homeai.structured.writer import Writer

_MAX_RULES = 20_000
_MAX_CHARS = 500_000


def schema_to_gbnf(schema: object, *, param: str = "response_format") -> str:
    """Return a grammar, start rule `root`, that produces only instances of `schema`.

    Args:
        schema: Parsed JSON schema.
        param: Request field to name in errors.

    Raises:
        InvalidSchema: The schema cannot be kept exactly, nothing fits it, or it is too large.
    """
    try:
        return SchemaCompiler(schema).compile()
    except InvalidSchema as error:
        raise InvalidSchema(error.message, param=param, details=error.details) from None


def any_json(kind: str) -> str:
    """Return a grammar for any JSON of `kind`: `value` or `object`."""
    writer = Writer(_MAX_RULES, _MAX_CHARS)
    writer.define("root", kind)
    return writer.text()


class SchemaCompiler:
    """One compilation of one schema.

    Attributes:
        writer: Where rules go.
        facts: What is known of the parts.
    """

    def __init__(self, schema: object) -> None:
        self.writer = Writer(_MAX_RULES, _MAX_CHARS)
        self.facts = Facts()
        self._document = SchemaDocument(schema)
        self._disjoint = Disjointness(self._document, self.facts)
        self._names: dict[tuple[str, ...], str | None] = {}
        self._todo: deque[tuple[str, list[Alternative], str]] = deque()

    def compile(self) -> str:
        """Return the grammar.

        Raises:
            InvalidSchema: As `schema_to_gbnf`.
        """
        self.writer.define("root", "")
        root = self.rule((self._document.root,))
        if root is None:
            refuse("#", "no value can fit this schema")
        self.writer.define("root", root)
        while self._todo:
            name, alternatives, pointer = self._todo.popleft()
            self.writer.pointer = pointer
            ways = [way for parts in alternatives for way in self._ways(parts)]
            if not ways:
                refuse(pointer, "no value can fit this schema")
            self.writer.define(name, " | ".join(dict.fromkeys(ways)))
            self._check_one_ofs()
        return self._checked(self.writer.text())

    def rule(self, places: tuple[Place, ...]) -> str | None:
        """Return the name of the rule for values that fit all `places`, or None if none does.

        The rule itself is written later, so that recursive schemas need no recursion here.
        """
        key = tuple(dict.fromkeys(place.pointer for place in places))
        if key not in self._names:
            self._names[key] = self._new_rule(places)
            self._check_one_ofs()
        return self._names[key]

    def _new_rule(self, places: tuple[Place, ...]) -> str | None:
        alternatives = [parts for parts in self._document.expand(places) if self._possible(parts)]
        if not alternatives:
            return None
        if any(not parts for parts in alternatives):
            return "value"
        name = self.writer.name("r")
        self._todo.append((name, alternatives, places[0].pointer))
        return name

    def _possible(self, parts: Alternative) -> bool:
        return bool(generated_types(parts)) and self.facts.listed_values(parts) != []

    def _ways(self, parts: Alternative) -> list[str]:
        """Return the GBNF items for the values that fit all `parts`, one for each type."""
        values = self.facts.listed_values(parts)
        if values is not None:
            return [write_values(self.writer, values)]
        types = generated_types(parts)
        ways: list[str | None] = []
        if "object" in types:
            ways.append(write_object(self, parts))
        if "array" in types:
            ways.append(write_array(self, parts))
        if "string" in types:
            ways.append(write_string(self.writer, self.facts, parts))
        if "integer" in types:
            ways.append(write_number(self.writer, parts, fractions="fraction" in types))
        if "boolean" in types:
            ways.append("boolean")
        if "null" in types:
            ways.append('"null"')
        return [way for way in ways if way is not None]

    def _check_one_ofs(self) -> None:
        while self._document.one_ofs:
            place, options = self._document.one_ofs.pop()
            for number, option in enumerate(options):
                for other in options[:number]:
                    self._document.count_work(len(option) * len(other), place)
                    if not all(self._disjoint.never_both(a, b) for a in option for b in other):
                        refuse(
                            f"{place.pointer}/oneOf/{number}",
                            "a value may fit this and an earlier alternative; oneOf needs alternatives of "
                            "different types, or objects that require a property with different "
                            "constants; else use anyOf",
                        )

    def _checked(self, text: str) -> str:
        try:
            grammar = analysed(text, limits=GENERATED)
        except InvalidSchema as error:
            pointer = self.writer.pointers.get(str(error.details.get("rule")), "#")
            refuse(pointer, str(error.details.get("problem", error.message)))
        self._check_ends(grammar)
        return text

    def _check_ends(self, grammar: Grammar) -> None:
        """Refuse a schema in which something can be begun but never be finished."""
        ends = analysis.productive(grammar)
        for rule, can_end in zip(grammar.rules, ends, strict=True):
            if not can_end:
                pointer = self.writer.pointers.get(rule.name, "#")
                refuse(pointer, "every value that fits holds another one, without end")
