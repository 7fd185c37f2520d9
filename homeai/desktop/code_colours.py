"""Background and colours for code blocks in a rendered answer."""

from __future__ import annotations

from pygments.lexers import get_lexer_by_name
from pygments.token import Comment, Keyword, Name, Number, Operator, String, _TokenType
from pygments.util import ClassNotFound
from PySide6.QtGui import (
    QColor,
    QTextBlock,
    QTextCharFormat,
    QTextCursor,
    QTextDocument,
    QTextFormat,
)

_LIGHT: dict[_TokenType, str] = {
    Comment: "#5f6b5f",
    Keyword: "#8a2a7b",
    String: "#8a4a00",
    Number: "#1f5fa8",
    Name.Function: "#1f5fa8",
    Name.Class: "#1f5fa8",
    Operator: "#5a5a55",
}
_DARK: dict[_TokenType, str] = {
    Comment: "#9fb09f",
    Keyword: "#d9a6e0",
    String: "#e5c07b",
    Number: "#8fbcf5",
    Name.Function: "#8fbcf5",
    Name.Class: "#8fbcf5",
    Operator: "#c8c8c4",
}
_LIGHT_GROUND, _DARK_GROUND = "#ecece8", "#1b1c1f"


def colour_code(document: QTextDocument, *, dark: bool) -> None:
    """Give every fenced code block its ground and, if its language is known, its colours."""
    block = document.begin()
    while block.isValid():
        if not _is_code(block):
            block = block.next()
            continue
        first, language = block, _language(block)
        lines = []
        while block.isValid() and _is_code(block):
            lines.append(block.text())
            block = block.next()
        _ground(first, len(lines), dark=dark)
        _colour(first, "\n".join(lines) + "\n", language, dark=dark)


def _is_code(block: QTextBlock) -> bool:
    form = block.blockFormat()
    return form.hasProperty(QTextFormat.Property.BlockCodeFence.value)


def _language(block: QTextBlock) -> str:
    value = block.blockFormat().property(QTextFormat.Property.BlockCodeLanguage.value)
    return value if isinstance(value, str) else ""


def _ground(block: QTextBlock, count: int, *, dark: bool) -> None:
    for _ in range(count):
        cursor = QTextCursor(block)
        form = block.blockFormat()
        form.setBackground(QColor(_DARK_GROUND if dark else _LIGHT_GROUND))
        form.setLeftMargin(6)
        cursor.setBlockFormat(form)
        block = block.next()


def _colour(first: QTextBlock, code: str, language: str, *, dark: bool) -> None:
    try:
        lexer = get_lexer_by_name(language, stripnl=False, ensurenl=False)
    except ClassNotFound:
        return
    colours = _DARK if dark else _LIGHT
    cursor = QTextCursor(first)
    start = first.position()
    for offset, kind, text in lexer.get_tokens_unprocessed(code):
        colour = next((colours[k] for k in reversed(kind.split()) if k in colours), None)
        if colour is None or not text.strip():
            continue
        cursor.setPosition(start + offset)
        cursor.setPosition(start + offset + len(text.rstrip("\n")), QTextCursor.MoveMode.KeepAnchor)
        form = QTextCharFormat()
        form.setForeground(QColor(colour))
        cursor.mergeCharFormat(form)
