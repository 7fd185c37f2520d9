"""Answers of a wanted form: checks grammars and turns JSON schemas into them. Pure, bounded, no native code."""

from homeai.structured.request_fields import raw_grammar, response_format

__all__ = ["raw_grammar", "response_format"]
