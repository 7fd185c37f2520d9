"""A window with a small core behind it, and pictures of every state."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtWidgets import QApplication

from homeai.desktop import i18n, theme
from homeai.desktop.chat_window import ChatWindow
from homeai.desktop.client import CoreClient
from homeai.desktop.states import summarise
from tests.fakes.desktop_core import DesktopCore

SHOTS = Path("artifacts/screenshots")


@pytest.fixture
def desktop_core():
    core = DesktopCore()
    yield core
    core.close()


@pytest.fixture
def window(qtbot, desktop_core):
    """A shown window that is connected to `desktop_core`."""
    client = CoreClient()
    made = ChatWindow(client, hides_on_close=True)
    client.snapshot_changed.connect(lambda s: made.show_summary(summarise(s)))
    qtbot.addWidget(made)
    made.show()
    with qtbot.waitSignal(client.snapshot_changed):
        client.connect_to(desktop_core.url, "token")
    yield made
    made.stop()
    client.disconnect_from_core()
    client.deleteLater()


@pytest.fixture
def shot(request):
    """shot(widget, 'state') keeps a picture of that state."""

    def take(widget, state: str) -> Path:
        QApplication.sendPostedEvents()
        SHOTS.mkdir(parents=True, exist_ok=True)
        path = SHOTS / f"{state}.png"
        assert widget.grab().save(str(path))
        return path

    return take


@pytest.fixture
def german(qapp, tmp_path):
    """The German texts, for this test only."""
    before = {c for c in qapp.children() if type(c).__name__ == "QTranslator"}
    i18n.install("de", tmp_path)
    yield
    for child in qapp.children():
        if type(child).__name__ == "QTranslator" and child not in before:
            qapp.removeTranslator(child)
            child.deleteLater()
    i18n.QLocale.setDefault(i18n.QLocale("en"))


@pytest.fixture(params=["light", "dark"])
def themed(request, qapp):
    """Both palettes, one after the other."""
    theme.apply(qapp, request.param)
    yield request.param
    theme.apply(qapp, "light")
