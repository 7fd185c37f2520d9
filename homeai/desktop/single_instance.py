"""One desktop per user; a second start raises the first one's window."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from PySide6.QtCore import QLockFile, QObject, Signal
from PySide6.QtNetwork import QLocalServer, QLocalSocket

_ANSWER_MS = 1000
_SHOW = b"show\n"


class SingleInstance(QObject):
    """Holds the lock and listens for second starts.

    Args:
        folder: Runtime folder of this user.

    Signals:
        show_requested: Another start wants to see the window.
    """

    show_requested = Signal()

    def __init__(self, folder: Path, parent: QObject | None = None) -> None:
        super().__init__(parent)
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._lock = QLockFile(str(folder / "desktop.lock"))
        self._lock.setStaleLockTime(0)  # only the lock of a dead process is stale
        digest = hashlib.sha256(os.fsencode(folder.absolute())).hexdigest()[:16]
        self._name = f"homeai-{digest}"
        self._server = QLocalServer(self)
        self._server.setSocketOptions(QLocalServer.SocketOption.UserAccessOption)
        self._server.newConnection.connect(self._on_connection)

    def claim(self) -> bool:
        """Become the one instance; else ask that one to show itself and return False."""
        if self._lock.tryLock(0):
            QLocalServer.removeServer(self._name)  # left over from a process that died
            self._server.listen(self._name)
            return True
        socket = QLocalSocket()
        socket.connectToServer(self._name)
        if socket.waitForConnected(_ANSWER_MS):
            socket.write(_SHOW)
            socket.waitForBytesWritten(_ANSWER_MS)
            socket.disconnectFromServer()
        return False

    def release(self) -> None:
        """Give the place up."""
        self._server.close()
        self._lock.unlock()

    def _on_connection(self) -> None:
        while (socket := self._server.nextPendingConnection()) is not None:
            socket.readyRead.connect(self._on_ready)
            socket.disconnected.connect(socket.deleteLater)

    def _on_ready(self) -> None:
        socket = self.sender()
        if isinstance(socket, QLocalSocket) and _SHOW.strip() in socket.readAll().data():
            self.show_requested.emit()
