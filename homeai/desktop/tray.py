"""The tray icon: state at a glance, and a short menu. Survives a tray host that arrives late."""

from __future__ import annotations

from PySide6.QtCore import QObject, Signal, SignalInstance
from PySide6.QtDBus import QDBusConnection, QDBusServiceWatcher
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QMenu, QSystemTrayIcon, QWidget

from homeai.desktop.state_icon import state_icon
from homeai.desktop.states import Look, Summary
from homeai.desktop.words import Words

_HOST = "org.kde.StatusNotifierWatcher"


class Tray(QObject):
    """Icon and menu.

    Signals:
        open_requested: The window is wanted.
        copy_requested: The address is wanted on the clipboard.
        quit_requested: Everything shall end.
    """

    open_requested = Signal()
    copy_requested = Signal()
    quit_requested = Signal()

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._words = Words(self)
        self._summary = Summary(Look.STOPPED)
        self._icons = {look: state_icon(look) for look in Look}
        self.menu = QMenu(parent)
        self._add(self.tr("Open chat"), self.open_requested)
        self._copy = self._add(self.tr("Copy address"), self.copy_requested)
        self.menu.addSeparator()
        self._add(self.tr("Quit"), self.quit_requested)
        self._icon: QSystemTrayIcon | None = None
        bus = QDBusConnection.sessionBus()
        if bus.isConnected():
            mode = QDBusServiceWatcher.WatchModeFlag.WatchForRegistration
            self._watcher = QDBusServiceWatcher(_HOST, bus, mode, self)
            # an icon made before its host exists never registers; a new one does
            self._watcher.serviceRegistered.connect(self._make)
        self._make()

    @staticmethod
    def is_available() -> bool:
        """Whether something shows tray icons now."""
        return QSystemTrayIcon.isSystemTrayAvailable()

    def _add(self, text: str, signal: SignalInstance) -> QAction:
        action = QAction(text, self.menu)
        action.triggered.connect(signal)
        self.menu.addAction(action)
        return action

    def _make(self) -> None:
        old = self._icon
        icon = self._icon = QSystemTrayIcon(self)
        icon.setContextMenu(self.menu)
        icon.activated.connect(self._on_activated)
        self._refresh()
        icon.show()
        if old is not None:
            old.hide()
            old.deleteLater()

    def _on_activated(self, reason: QSystemTrayIcon.ActivationReason) -> None:
        if reason in (
            QSystemTrayIcon.ActivationReason.Trigger,
            QSystemTrayIcon.ActivationReason.DoubleClick,
        ):
            self.open_requested.emit()

    def show_summary(self, summary: Summary) -> None:
        """Show a state."""
        if summary != self._summary:
            self._summary = summary
            self._refresh()

    def _refresh(self) -> None:
        if self._icon is not None:
            self._icon.setIcon(self._icons[self._summary.look])
            self._icon.setToolTip(f"homeai\n{self._words.state(self._summary)}")
        self._copy.setEnabled(self._summary.look is not Look.STOPPED)
