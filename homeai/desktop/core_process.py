"""Finds the running core or starts one, and ends the one it started."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QObject, QProcess, QTimer, Signal

from homeai.settings import corefile
from homeai.settings.paths import Paths
from homeai.settings.program import own_program

_LOOK_MS = 150
_FIRST_PAUSE_MS, _LONGEST_PAUSE_MS = 500, 30_000
_STOP_MS = 15_000


def core_command() -> list[str]:
    """Program and arguments of a core that ends with us."""
    return [*own_program(), "serve", "--exit-with-parent"]


class CoreProcess(QObject):
    """The core as seen from the desktop.

    Args:
        paths: Folders of this user.
        command: How to start a core.

    Signals:
        found: Address and token of a core that answers for this user.
        lost: The core is gone; carries what it said last, maybe nothing.
        stopped: After `stop`: nothing of ours runs any more.
    """

    found = Signal(str, str)
    lost = Signal(str)
    stopped = Signal()

    def __init__(
        self, paths: Paths, command: Sequence[str] | None = None, parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self._paths, self._command = paths, list(command or core_command())
        self._process: QProcess | None = None
        self._known: corefile.CoreFile | None = None
        self._pause_ms, self._stopping = _FIRST_PAUSE_MS, False
        self._output = b""
        self._look = QTimer(self)
        self._look.setInterval(_LOOK_MS)
        self._look.timeout.connect(self._on_look)

    @property
    def is_ours(self) -> bool:
        """Whether we started the core."""
        return self._process is not None

    def start(self) -> None:
        """Join or start a core."""
        self._on_look()
        self._look.start()

    def _on_look(self) -> None:
        core = corefile.read(self._paths.core_file)
        if core is not None:
            if core != self._known:
                self._known, self._pause_ms = core, _FIRST_PAUSE_MS
                self.found.emit(core.url, core.token)
            return
        if self._known is not None:
            self._known = None
            self.lost.emit("")
        if self._process is None and not self._stopping:
            self._spawn()

    def _spawn(self) -> None:
        process = QProcess(self)
        process.setProgram(self._command[0])
        process.setArguments(self._command[1:])
        process.setProcessChannelMode(QProcess.ProcessChannelMode.MergedChannels)
        process.readyRead.connect(self._on_output)
        process.finished.connect(self._on_finished)
        process.errorOccurred.connect(self._on_error)
        self._process, self._output = process, b""
        process.start()

    def _on_output(self) -> None:
        if self._process is not None:
            self._output = (self._output + self._process.readAll().data())[-4096:]

    def _on_error(self, error: QProcess.ProcessError) -> None:
        if error is QProcess.ProcessError.FailedToStart:
            self._on_finished()

    def _on_finished(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        process.deleteLater()
        if self._stopping:
            self.stopped.emit()
            return
        lines = self._output.decode("utf-8", "replace").strip().splitlines()
        self._known = None
        self._look.stop()
        self.lost.emit(lines[-1] if lines else "")
        QTimer.singleShot(self._pause_ms, self, self.start)
        self._pause_ms = min(self._pause_ms * 2, _LONGEST_PAUSE_MS)

    def stop(self, *, keep_serving: bool) -> None:
        """End the core we started: it finishes what it does, then ends; `stopped` tells when.

        Args:
            keep_serving: Leave it running.
        """
        self._stopping = True
        self._look.stop()
        process = self._process
        if process is None or keep_serving:
            if process is not None:
                process.setParent(None)
            self.stopped.emit()
            return
        process.closeWriteChannel()  # the core ends when its standard input does
        QTimer.singleShot(_STOP_MS, process, process.kill)
