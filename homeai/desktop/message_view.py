"""One message: who, the text, and what is known of the answer."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt, QTimer, QUrl
from PySide6.QtGui import QDesktopServices, QGuiApplication, QResizeEvent
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QLabel,
    QSizePolicy,
    QTextBrowser,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from homeai.desktop.code_colours import colour_code
from homeai.desktop.streaming_markdown import StreamingMarkdown
from homeai.desktop.theme import is_dark

_SHOW_EVERY_MS = 33
_LINK_SCHEMES = frozenset({"http", "https"})


class _Text(QTextBrowser):
    """A text as tall as its content, with nothing loaded from anywhere."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.viewport().setAutoFillBackground(False)  # the card's ground shows through
        self.setOpenLinks(False)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAsNeeded)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.anchorClicked.connect(_open_link)
        self.document().documentLayout().documentSizeChanged.connect(self._fit)

    def loadResource(self, _kind: int, _name: QUrl | str) -> object:  # noqa: N802 -- Qt's name
        """Answers may name images anywhere; none is fetched."""
        return None

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802 -- Qt's name
        """Follow the width."""
        super().resizeEvent(event)
        self._fit()

    def _fit(self) -> None:
        height = int(self.document().size().height()) + 2
        if height != self.height():
            self.setFixedHeight(height)

    def sizeHint(self) -> QSize:  # noqa: N802 -- Qt's name
        """As tall as the text."""
        return QSize(super().sizeHint().width(), int(self.document().size().height()) + 2)


def _open_link(url: QUrl) -> None:
    if url.scheme() in _LINK_SCHEMES:
        QDesktopServices.openUrl(url)


class MessageView(QFrame):
    """A message in the conversation.

    Args:
        who: Heading: the user or the model.
        is_user: Users' words are shown as written, answers as markdown.
    """

    def __init__(self, who: str, parent: QWidget, *, is_user: bool) -> None:
        super().__init__(parent)
        self._is_user, self._pending = is_user, ""
        self._head = QLabel(who, self)
        font = self._head.font()
        font.setBold(True)
        self._head.setFont(font)
        self._note = QLabel("", self)
        self._note.setTextFormat(Qt.TextFormat.PlainText)
        self._note.setWordWrap(True)
        self.text_view = _Text(self)
        self.text_view.setAccessibleName(who)
        self._copy = QToolButton(self)
        self._copy.setText(self.tr("Copy"))
        self._copy.setAccessibleName(self.tr("Copy this message"))
        self._copy.setAutoRaise(True)
        self._copy.clicked.connect(self._on_copy)
        top = QHBoxLayout()
        top.addWidget(self._head)
        top.addStretch(1)
        top.addWidget(self._copy)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(12, 8, 12, 8)
        layout.setSpacing(4)
        layout.addLayout(top)
        layout.addWidget(self.text_view)
        layout.addWidget(self._note)
        self._note.hide()
        self._markdown = StreamingMarkdown(self.text_view.document())
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(_SHOW_EVERY_MS)
        self._timer.timeout.connect(self._show_pending)
        self.setAutoFillBackground(True)
        self.setBackgroundRole(
            self.backgroundRole().AlternateBase if is_user else self.backgroundRole().Base
        )

    @property
    def text(self) -> str:
        """The message as markdown."""
        return self._markdown.text + self._pending

    def append(self, piece: str) -> None:
        """Add text; it is shown at most 30 times a second."""
        self._pending += piece
        if not self._timer.isActive():
            self._timer.start()

    def _show_pending(self) -> None:
        piece, self._pending = self._pending, ""
        if piece:
            self._markdown.append(piece)

    def set_whole(self, text: str) -> None:
        """Show a complete text."""
        self._markdown.text = text
        if self._is_user:
            self.text_view.setPlainText(text)
        else:
            self.finish()

    def finish(self, note: str = "") -> None:
        """The text is complete; `note` says where it came from or why it ended."""
        self._timer.stop()
        self._show_pending()
        self._markdown.finish()
        colour_code(self.text_view.document(), dark=is_dark(self.palette()))
        self.show_note(note)

    def show_note(self, note: str) -> None:
        """Show a line below the text; "" hides it."""
        self._note.setText(note)
        self._note.setVisible(bool(note))

    def _on_copy(self) -> None:
        QGuiApplication.clipboard().setText(self.text)
