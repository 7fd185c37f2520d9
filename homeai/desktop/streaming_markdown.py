"""Markdown that grows at a flat cost a piece.

What stands before the last blank line that surely ends a block is sealed: laid out once and never touched
again. Only the open tail is replaced. `finish` renders the whole text once more, for what depends on
later text (reference links, loose lists).
"""

from __future__ import annotations

import re

from PySide6.QtGui import QTextBlockFormat, QTextCharFormat, QTextCursor, QTextDocument

# without NoHTML Qt reads tags in an answer and drops the text after them
FEATURES = (
    QTextDocument.MarkdownFeature.MarkdownDialectGitHub
    | QTextDocument.MarkdownFeature.MarkdownNoHTML
)
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_GOES_ON = re.compile(r"[ \t]|[-*+]\s|\d{1,9}[.)]\s|$")
_MAY_BE_LIST = re.compile(r"[-*+\d]")
_LIST_MARK_LENGTH = 11


class StreamingMarkdown:
    """Feeds a document piece by piece.

    Args:
        document: Starts empty.

    Attributes:
        text: All that came.
    """

    def __init__(self, document: QTextDocument) -> None:
        self._document, self.text = document, ""
        self._sealed = self._tail_at = self._scanned = 0
        self._fence: str | None = None

    def append(self, piece: str) -> None:
        """Show the next piece; call it at most 30 times a second."""
        self.text += piece
        cut = self._cut()
        cursor = QTextCursor(self._document)
        cursor.beginEditBlock()
        cursor.setPosition(self._tail_at)
        cursor.movePosition(QTextCursor.MoveOperation.End, QTextCursor.MoveMode.KeepAnchor)
        cursor.removeSelectedText()
        if cut > self._sealed:
            self._insert(cursor, self.text[self._sealed : cut])
            self._sealed = cut
            self._tail_at = self._document.characterCount() - 1
        self._insert(cursor, self.text[self._sealed :])
        cursor.endEditBlock()

    def finish(self) -> None:
        """Render the whole text once."""
        self._document.setMarkdown(self.text, FEATURES)

    def _insert(self, cursor: QTextCursor, markdown: str) -> None:
        if not markdown.strip():
            return
        if self._document.characterCount() > 1:
            cursor.movePosition(QTextCursor.MoveOperation.End)
            cursor.insertBlock(QTextBlockFormat(), QTextCharFormat())
            if (before := cursor.currentList()) is not None:  # must not go on in the new block
                before.remove(cursor.block())
                cursor.setBlockFormat(QTextBlockFormat())
        cursor.insertMarkdown(markdown, FEATURES)

    def _cut(self) -> int:
        """Return where the sealed part may end; looks at whole lines it has not seen yet."""
        at, cut = self._scanned, self._sealed
        while (end := self.text.find("\n", at)) >= 0:
            line = self.text[at:end]
            fence = _FENCE.match(line)
            if fence is not None:
                self._toggle(fence[1], line)
            elif self._fence is None and not line.strip():
                following = self.text[end + 1 : end + 1 + _LIST_MARK_LENGTH]
                if not following or self._is_undecided(following):
                    break
                if not _GOES_ON.match(following):
                    cut = end + 1
            at = end + 1
        self._scanned = at
        return cut

    def _toggle(self, mark: str, line: str) -> None:
        if self._fence is None:
            self._fence = mark
        elif line.strip().startswith(self._fence) and not line.strip().strip(self._fence[0]):
            self._fence = None

    @staticmethod
    def _is_undecided(following: str) -> bool:
        """Whether more text decides if a list goes on."""
        whole = len(following) >= _LIST_MARK_LENGTH or "\n" in following
        return not whole and _MAY_BE_LIST.match(following) is not None
