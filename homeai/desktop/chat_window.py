"""The chat window: one conversation with the active model."""

from __future__ import annotations

from time import monotonic

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QCloseEvent, QKeySequence, QShortcut
from PySide6.QtWidgets import QHBoxLayout, QLabel, QMainWindow, QPushButton, QVBoxLayout, QWidget

from homeai.desktop.client import ChatStream, CoreClient
from homeai.desktop.composer import Composer
from homeai.desktop.conversation_view import ConversationView
from homeai.desktop.message_view import MessageView
from homeai.desktop.states import Look, Summary
from homeai.desktop.words import Words
from homeai.domain.request import SYSTEM_PROMPT

_SIZE = QSize(760, 640)
_SYSTEM = {"role": "system", "content": SYSTEM_PROMPT}


class ChatWindow(QMainWindow):
    """Conversation, composer, and the state in words.

    Args:
        client: Where answers come from.
        hides_on_close: Whether closing only hides the window (there is a tray to bring it back).

    Signals:
        closed: The window was closed and nothing would bring it back.
    """

    closed = Signal()

    def __init__(self, client: CoreClient, *, hides_on_close: bool) -> None:
        super().__init__()
        self._client, self._hides_on_close = client, hides_on_close
        self.is_quitting = False
        self._words = Words(self)
        self._summary = Summary(Look.STOPPED)
        self._messages: list[dict[str, str]] = []
        self._stream: ChatStream | None = None
        self._answer: MessageView | None = None
        self._first_text_at: float | None = None
        self._pieces = 0
        self.setWindowTitle("homeai")
        self.resize(_SIZE)
        self._build()
        self.show_summary(self._summary)

    def _build(self) -> None:
        body = QWidget(self)
        self.conversation = ConversationView(body)
        self.conversation.setAccessibleName(self.tr("Conversation"))
        self.state_label = QLabel(body)
        self.state_label.setTextFormat(Qt.TextFormat.PlainText)
        self.state_label.setWordWrap(True)
        self.tiny_label = QLabel(body)
        self.tiny_label.setWordWrap(True)
        self.tiny_label.setTextFormat(Qt.TextFormat.PlainText)
        self.composer = Composer(body)
        self.composer.setAccessibleName(self.tr("Your message"))
        self.composer.setPlaceholderText(self.tr("Write a message. Enter sends it."))
        self.send_button = QPushButton(self.tr("Send"), body)
        self.stop_button = QPushButton(self.tr("Stop"), body)
        self.new_button = QPushButton(self.tr("New conversation"), body)
        top = QHBoxLayout()
        top.addWidget(self.state_label, 1)
        top.addWidget(self.new_button)
        bottom = QHBoxLayout()
        bottom.addWidget(self.composer, 1)
        bottom.addWidget(self.send_button)
        bottom.addWidget(self.stop_button)
        layout = QVBoxLayout(body)
        layout.addLayout(top)
        layout.addWidget(self.tiny_label)
        layout.addWidget(self.conversation, 1)
        layout.addLayout(bottom)
        self.setCentralWidget(body)
        self.composer.submitted.connect(self.send)
        self.send_button.clicked.connect(self.send)
        self.stop_button.clicked.connect(self.stop)
        self.new_button.clicked.connect(self.start_over)
        QShortcut(QKeySequence(Qt.Key.Key_Escape), self, self.stop)
        QShortcut(QKeySequence.StandardKey.New, self, self.start_over)
        for before, after in (
            (self.composer, self.send_button),
            (self.send_button, self.stop_button),
            (self.stop_button, self.new_button),
        ):
            QWidget.setTabOrder(before, after)
        self.composer.setFocus()

    def show_summary(self, summary: Summary) -> None:
        """Show a state of the service."""
        self._summary = summary
        self.state_label.setText(self._words.state(summary))
        self.tiny_label.setText(self._words.tiny(summary.model) if summary.tiny else "")
        self.tiny_label.setVisible(summary.tiny)
        self._refresh_buttons()

    def _refresh_buttons(self) -> None:
        answering = self._stream is not None
        serves = self._summary.look in (Look.IDLE, Look.WORKING, Look.LOADING)
        self.send_button.setVisible(not answering)
        self.send_button.setEnabled(serves)
        self.stop_button.setVisible(answering)
        self.new_button.setEnabled(bool(self._messages) or answering)

    def send(self) -> None:
        """Send what is written; a draft stays while it cannot be sent."""
        text = self.composer.toPlainText().strip()
        if not text or self._stream is not None or not self.send_button.isEnabled():
            return
        self.composer.clear()
        self._messages.append({"role": "user", "content": text})
        self.conversation.add(self.tr("You"), is_user=True).set_whole(text)
        name = self._summary.model or self.tr("Answer")
        self._answer = self.conversation.add(name, is_user=False)
        self._first_text_at, self._pieces, self._is_moving = None, 0, False
        stream = self._stream = self._client.chat([_SYSTEM, *self._messages])
        stream.text_came.connect(self._on_text)
        stream.waiting.connect(self._on_waiting)
        stream.degraded.connect(self._on_degraded)
        stream.finished.connect(self._on_finished)
        stream.failed.connect(self._on_failed)
        self._refresh_buttons()

    def stop(self) -> None:
        """End the answer that is being written; what came stays."""
        if self._stream is not None:
            self._stream.stop()

    def start_over(self) -> None:
        """Begin a new conversation."""
        self.stop()
        self._messages.clear()
        self.conversation.clear()
        self._refresh_buttons()
        self.composer.setFocus()

    def _on_text(self, text: str) -> None:
        if self._answer is None:
            return
        if self._first_text_at is None:
            self._first_text_at = monotonic()
            self._answer.show_note("")
        elif self._is_moving:
            self._is_moving = False
            self._answer.show_note("")
        self._pieces += 1
        self._answer.append(text)

    def _on_degraded(self, facts: dict[str, object]) -> None:
        if self._answer is not None:
            self._is_moving = True
            self._answer.show_note(self._words.degraded(facts))

    def _on_waiting(self, position: int) -> None:
        if self._answer is not None and self._first_text_at is None:
            self._answer.show_note(self._words.position(position))

    def _on_finished(self, facts: dict[str, object]) -> None:
        speed = None
        if self._first_text_at is not None and self._pieces > 1:
            took = monotonic() - self._first_text_at
            speed = (self._pieces - 1) / took if took > 0 else None
        self._end(self._words.device(facts, speed))

    def _on_failed(self, message: str) -> None:
        self._end(message or self.tr("Stopped."))

    def _end(self, note: str) -> None:
        stream, self._stream = self._stream, None
        if stream is not None:
            stream.deleteLater()
        if self._answer is not None:
            self._answer.finish(note)
            if self._messages:
                self._messages.append({"role": "assistant", "content": self._answer.text})
            self._answer = None
        self._refresh_buttons()

    def bring_to_front(self) -> None:
        """Show the window and give it the keyboard."""
        self.show()
        self.setWindowState(self.windowState() & ~Qt.WindowState.WindowMinimized)
        self.raise_()
        self.activateWindow()
        self.composer.setFocus()

    def closeEvent(self, event: QCloseEvent) -> None:  # noqa: N802 -- Qt's name
        """Hide where a tray brings the window back; else closing means quitting."""
        if self.is_quitting:
            event.accept()
        elif self._hides_on_close:
            event.ignore()
            self.hide()
        else:
            event.ignore()
            self.closed.emit()
