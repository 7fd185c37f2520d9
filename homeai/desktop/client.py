"""Talks to the core over loopback HTTP without ever blocking the window."""

from __future__ import annotations

import json
from typing import Any

from PySide6.QtCore import QByteArray, QObject, QTimer, QUrl, Signal
from PySide6.QtNetwork import QNetworkAccessManager, QNetworkReply, QNetworkRequest

from homeai.desktop.sse import SseEvent, SseParser

_POLL_MS = 1000
_POLL_TIMEOUT_MS = 5000


class CoreClient(QObject):
    """Requests to one core.

    Signals:
        snapshot_changed: The status as a dict.
        unreachable: A status request failed.
    """

    snapshot_changed = Signal(dict)
    unreachable = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._net = QNetworkAccessManager(self)
        self._url = self._token = ""
        self._asking = False
        self._timer = QTimer(self)
        self._timer.setInterval(_POLL_MS)
        self._timer.timeout.connect(self._poll)

    @property
    def address(self) -> str:
        """Base address for OpenAI clients, or ""."""
        return f"{self._url}/v1" if self._url else ""

    def connect_to(self, url: str, token: str) -> None:
        """Use this core from now on."""
        self._url, self._token = url, token
        self._poll()
        self._timer.start()

    def disconnect_from_core(self) -> None:
        """Ask nothing until the next `connect_to`."""
        self._url = ""
        self._timer.stop()

    def _request(self, path: str) -> QNetworkRequest:
        request = QNetworkRequest(QUrl(self._url + path))
        request.setRawHeader(b"Authorization", f"Bearer {self._token}".encode())
        return request

    def _poll(self) -> None:
        if self._asking or not self._url:
            return
        self._asking = True
        request = self._request("/homeai/v1/status")
        request.setTransferTimeout(_POLL_TIMEOUT_MS)
        reply = self._net.get(request)
        reply.finished.connect(lambda: self._on_status(reply))

    def _on_status(self, reply: QNetworkReply) -> None:
        self._asking = False
        body = bytes(reply.readAll().data())
        reply.deleteLater()
        if reply.error() is not QNetworkReply.NetworkError.NoError:
            self.unreachable.emit()
            return
        try:
            snapshot = json.loads(body)
        except ValueError:
            self.unreachable.emit()
            return
        self.snapshot_changed.emit(snapshot)

    def chat(self, messages: list[dict[str, str]]) -> ChatStream:
        """Ask for an answer; the stream reports it and belongs to this client."""
        request = self._request("/v1/chat/completions")
        request.setHeader(QNetworkRequest.KnownHeaders.ContentTypeHeader, "application/json")
        body = json.dumps({"messages": messages, "stream": True}).encode()
        return ChatStream(self._net.post(request, QByteArray(body)), self)


class ChatStream(QObject):
    """One answer as it comes.

    Signals:
        text_came: The next part of the answer.
        waiting: Position in line, 0 = next.
        degraded: Another device will go on; with `reason` and `estimate_ms`.
        finished: The `homeai` object of the complete answer.
        failed: Why there is no (whole) answer; "" after `stop`.
    """

    text_came = Signal(str)
    waiting = Signal(int)
    degraded = Signal(dict)
    finished = Signal(dict)
    failed = Signal(str)

    def __init__(self, reply: QNetworkReply, parent: QObject) -> None:
        super().__init__(parent)
        self._reply, self._parser = reply, SseParser()
        self._ended = self._stopped = False
        self._facts: dict[str, Any] = {}
        reply.readyRead.connect(self._on_data)
        reply.finished.connect(self._on_finished)

    def stop(self) -> None:
        """End the answer; what came stays."""
        self._stopped = True
        self._reply.abort()

    def _status(self) -> int:
        value = self._reply.attribute(QNetworkRequest.Attribute.HttpStatusCodeAttribute)
        return value if isinstance(value, int) else 0

    def _on_data(self) -> None:
        if self._status() != 200:
            return
        for event in self._parser.feed(bytes(self._reply.readAll().data())):
            self._on_event(event)

    def _on_event(self, event: SseEvent) -> None:
        if event.data == "[DONE]":
            self._end()
            return
        try:
            value = json.loads(event.data.removeprefix("homeai "))
        except ValueError:
            return  # a comment of no interest
        if event.name == "comment":
            if isinstance(value, dict) and isinstance(value.get("position"), int):
                self.waiting.emit(value["position"])
            elif isinstance(value, dict) and value.get("event") == "degraded":
                self.degraded.emit(value)
        elif "error" in value:
            self._fail(str(value["error"].get("message", "")))
        else:
            self._facts = value.get("homeai", self._facts)
            for choice in value.get("choices", ()):
                if text := choice.get("delta", {}).get("content"):
                    self.text_came.emit(text)

    def _on_finished(self) -> None:
        # an aborted reply is closed and must not be read
        body = bytes(self._reply.readAll().data()) if self._reply.isOpen() else b""
        error = self._reply.errorString()
        if self._stopped:
            self._fail("")
        elif self._status() == 200:
            for event in self._parser.feed(body + b"\n\n"):
                self._on_event(event)
            self._fail(self.tr("The connection broke before the answer was complete."))
        else:
            self._fail(_error_message(body) or error)
        self._reply.deleteLater()

    def _end(self) -> None:
        if not self._ended:
            self._ended = True
            self.finished.emit(self._facts)

    def _fail(self, message: str) -> None:
        if not self._ended:
            self._ended = True
            self.failed.emit(message)


def _error_message(body: bytes) -> str:
    try:
        return str(json.loads(body)["error"]["message"])
    except (ValueError, KeyError, TypeError):
        return ""
