"""Marks texts for translation without knowing Qt; `lupdate` finds calls of this name."""

from __future__ import annotations


def QT_TRANSLATE_NOOP(_context: str, text: str) -> str:  # noqa: N802 -- the name lupdate looks for
    """Return `text`; its translation is looked up when it is shown."""
    return text
