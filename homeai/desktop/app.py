"""Wires the desktop together and runs it."""

from __future__ import annotations

import signal
import sys
from typing import Any

from PySide6.QtCore import QLocale, QObject, QTimer
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication

from homeai import APP_ID, __version__
from homeai.desktop import i18n, theme
from homeai.desktop.chat_window import ChatWindow
from homeai.desktop.client import CoreClient
from homeai.desktop.core_process import CoreProcess
from homeai.desktop.single_instance import SingleInstance
from homeai.desktop.state_icon import state_icon
from homeai.desktop.states import Look, Summary, summarise
from homeai.desktop.tray import Tray
from homeai.settings.paths import Paths
from homeai.settings.schema import Settings

_SIGNAL_POLL_MS = 200


class Desktop(QObject):
    """Window, tray, and the connection to the core.

    Args:
        application: Qt's application.
        paths: Folders of this user.
        settings: Values in force.
        core: The core's process; made here unless a test gives one.
    """

    def __init__(
        self,
        application: QApplication,
        paths: Paths,
        settings: Settings,
        core: CoreProcess | None = None,
    ) -> None:
        super().__init__(application)
        self._application, self._settings = application, settings
        self.client = CoreClient(self)
        hides = settings.ui.close_to_tray and Tray.is_available()
        self.window = ChatWindow(self.client, hides_on_close=hides)
        self.tray = Tray(self.window)
        self.core = core or CoreProcess(paths, parent=self)
        self._quitting = False
        self.core.found.connect(self.client.connect_to)
        self.core.lost.connect(self._on_lost)
        self.core.stopped.connect(self._end)
        self.client.snapshot_changed.connect(self._on_snapshot)
        self.client.unreachable.connect(self._on_unreachable)
        self.tray.open_requested.connect(self.window.bring_to_front)
        self.tray.copy_requested.connect(self._copy_address)
        self.tray.quit_requested.connect(self.quit)
        self.window.closed.connect(self.quit)

    def start(self, *, hidden: bool) -> None:
        """Show what is to be shown and look for the core.

        Args:
            hidden: Only the tray, if there is one.
        """
        if not hidden or not Tray.is_available():
            self.window.show()
        self.core.start()

    def quit(self) -> None:
        """End everything: the window, the core if it is ours, this process."""
        if self._quitting:
            return
        self._quitting = True
        self.window.is_quitting = True
        self.window.stop()
        self.window.hide()
        self.client.disconnect_from_core()
        self.core.stop(keep_serving=self._settings.ui.keep_serving)

    def _end(self) -> None:
        self._application.quit()

    def _show(self, summary: Summary) -> None:
        self.window.show_summary(summary)
        self.tray.show_summary(summary)

    def _on_snapshot(self, snapshot: dict[str, Any]) -> None:
        self._show(summarise(snapshot))

    def _on_unreachable(self) -> None:
        self._show(summarise(None))

    def _on_lost(self, last_words: str) -> None:
        self.client.disconnect_from_core()
        self._show(Summary(Look.ERROR, problem=last_words) if last_words else Summary(Look.STOPPED))

    def _copy_address(self) -> None:
        QGuiApplication.clipboard().setText(self.client.address)


def run_desktop(paths: Paths, settings: Settings, *, hidden: bool) -> int:
    """Run the desktop until it is quit; returns the exit status.

    A second start shows the first one's window and ends.
    """
    application = QApplication(sys.argv[:1])
    application.setApplicationName("homeai")
    application.setApplicationVersion(__version__)
    application.setDesktopFileName(APP_ID)
    application.setQuitOnLastWindowClosed(False)
    instance = SingleInstance(paths.runtime)
    if not instance.claim():
        return 0
    language = i18n.choose_language(settings.ui.language, QLocale.system())
    i18n.install(language, paths.cache)
    theme.apply(application, settings.ui.theme)
    application.setWindowIcon(state_icon(Look.IDLE))
    desktop = Desktop(application, paths, settings)
    instance.show_requested.connect(desktop.window.bring_to_front)
    _quit_on_signals(desktop)
    desktop.start(hidden=hidden)
    try:
        return application.exec()
    finally:
        instance.release()


def _quit_on_signals(desktop: Desktop) -> None:
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: desktop.quit())
    # Python runs signal handlers between bytecodes; an idle Qt loop executes none
    timer = QTimer(desktop)
    timer.timeout.connect(lambda: None)
    timer.start(_SIGNAL_POLL_MS)
