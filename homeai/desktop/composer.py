"""The box to write in: Enter sends, Shift+Enter breaks the line, it grows to eight lines."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QPlainTextEdit, QSizePolicy, QWidget

_MOST_LINES = 8
_ENTER = (Qt.Key.Key_Return, Qt.Key.Key_Enter)


class Composer(QPlainTextEdit):
    """A plain text box.

    Signals:
        submitted: The user wants to send what is written.
    """

    submitted = Signal()

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setTabChangesFocus(True)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.textChanged.connect(self.updateGeometry)

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: N802 -- Qt's name
        """Send on Enter alone."""
        plain = not event.modifiers() & Qt.KeyboardModifier.ShiftModifier
        if event.key() in _ENTER and plain:
            self.submitted.emit()
            return
        super().keyPressEvent(event)

    def sizeHint(self) -> QSize:  # noqa: N802 -- Qt's name
        """As tall as the text, within bounds."""
        lines = min(max(int(self.document().size().height()), 1), _MOST_LINES)
        height = lines * self.fontMetrics().lineSpacing() + 2 * self.frameWidth() + 12
        return QSize(super().sizeHint().width(), height)

    def minimumSizeHint(self) -> QSize:  # noqa: N802 -- Qt's name
        """Never squeezed below its text."""
        return QSize(80, self.sizeHint().height())
