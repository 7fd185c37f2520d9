"""The messages of a conversation, newest at the bottom; follows new text unless the user scrolled up."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFrame, QScrollArea, QVBoxLayout, QWidget

from homeai.desktop.message_view import MessageView

SHOWN_MESSAGES = 200
_NEAR_END_PX = 40


class ConversationView(QScrollArea):
    """Scrolls message views; only the last 200 are kept as widgets."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._body = QWidget(self)
        self._layout = QVBoxLayout(self._body)
        self._layout.setContentsMargins(0, 0, 0, 0)
        self._layout.setSpacing(6)
        self._layout.addStretch(1)
        self.setWidget(self._body)
        self._views: list[MessageView] = []
        self._follows = True
        bar = self.verticalScrollBar()
        bar.rangeChanged.connect(self._on_range)
        bar.valueChanged.connect(self._on_value)

    def add(self, who: str, *, is_user: bool) -> MessageView:
        """Add an empty message at the bottom and return its view."""
        view = MessageView(who, self._body, is_user=is_user)
        self._layout.addWidget(view)
        self._views.append(view)
        self._follows = True
        if len(self._views) > SHOWN_MESSAGES:
            self._views.pop(0).deleteLater()
        return view

    def clear(self) -> None:
        """Remove all messages."""
        while self._views:
            self._views.pop().deleteLater()

    def _on_range(self, _least: int, most: int) -> None:
        if self._follows:
            self.verticalScrollBar().setValue(most)

    def _on_value(self, value: int) -> None:
        self._follows = value >= self.verticalScrollBar().maximum() - _NEAR_END_PX
