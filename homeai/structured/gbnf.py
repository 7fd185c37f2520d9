"""The gate for grammar text: only what llama.cpp accepts, survives and runs in bounded time gets through.

GBNF is llama.cpp's notation for what an answer may look like. Nothing reaches the native parser
that did not pass `validate`.
"""

from __future__ import annotations

from homeai.domain.errors import InvalidSchema
from homeai.structured import ambiguity, analysis
from homeai.structured.gbnf_parser import GbnfParser
from homeai.structured.gbnf_reader import grammar_error
from homeai.structured.grammar import Grammar
from homeai.structured.limits import CLIENT, Limits


def validate(text: str, *, limits: Limits = CLIENT) -> None:
    """Refuse `text` unless llama.cpp can use it safely with the start rule `root`.

    Args:
        text: GBNF.
        limits: Bounds of size and ambiguity.

    Raises:
        InvalidSchema: What is wrong, with line and column where there is one.
    """
    analysed(text, limits=limits)


def analysed(text: str, *, limits: Limits = CLIENT) -> Grammar:
    """Validate `text` and return what it means.

    Raises:
        InvalidSchema: As `validate`.
    """
    if len(text) > limits.text_bytes:
        raise _too_long(len(text), limits)
    for position, char in enumerate(text):
        if char == "\0":
            raise grammar_error(text, position, "a NUL character is not allowed")
        if "\ud800" <= char <= "\udfff":
            raise grammar_error(text, position, "half a surrogate pair is not a character")
    if (size := len(text.encode())) > limits.text_bytes:
        raise _too_long(size, limits)
    grammar = GbnfParser(text, limits).parse()
    analysis.check(grammar, text, limits)
    ambiguity.check(grammar, text, limits)
    return grammar


def _too_long(size: int, limits: Limits) -> InvalidSchema:
    return InvalidSchema(
        f"the grammar has {size} bytes; at most {limits.text_bytes} are allowed", param="grammar"
    )
