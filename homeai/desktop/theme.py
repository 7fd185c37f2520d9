"""Fusion with own palettes, since not every system tells Qt its colours."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QPalette
from PySide6.QtWidgets import QApplication

_ROLES = QPalette.ColorRole

_LIGHT = {
    _ROLES.Window: "#f4f4f2",
    _ROLES.WindowText: "#1c1c1a",
    _ROLES.Base: "#ffffff",
    _ROLES.AlternateBase: "#ebebe7",
    _ROLES.Text: "#1c1c1a",
    _ROLES.Button: "#e6e6e1",
    _ROLES.ButtonText: "#1c1c1a",
    _ROLES.Highlight: "#1f5fa8",
    _ROLES.HighlightedText: "#ffffff",
    _ROLES.Link: "#1f5fa8",
    _ROLES.PlaceholderText: "#63635e",
    _ROLES.ToolTipBase: "#ffffff",
    _ROLES.ToolTipText: "#1c1c1a",
}
_DARK = {
    _ROLES.Window: "#202124",
    _ROLES.WindowText: "#ececea",
    _ROLES.Base: "#2a2b2f",
    _ROLES.AlternateBase: "#33353a",
    _ROLES.Text: "#ececea",
    _ROLES.Button: "#3a3c42",
    _ROLES.ButtonText: "#ececea",
    _ROLES.Highlight: "#7fb2f0",
    _ROLES.HighlightedText: "#101418",
    _ROLES.Link: "#8fbcf5",
    _ROLES.PlaceholderText: "#a7a7a2",
    _ROLES.ToolTipBase: "#33353a",
    _ROLES.ToolTipText: "#ececea",
}


def palette(*, dark: bool) -> QPalette:
    """Return a palette whose texts have at least 4.5 : 1 contrast."""
    made = QPalette()
    for role, colour in (_DARK if dark else _LIGHT).items():
        made.setColor(role, QColor(colour))
    disabled = QColor("#8a8a86" if dark else "#777772")
    for role in (_ROLES.WindowText, _ROLES.Text, _ROLES.ButtonText):
        made.setColor(QPalette.ColorGroup.Disabled, role, disabled)
    return made


def apply(application: QApplication, setting: str) -> None:
    """Set style and palette.

    Args:
        application: Whose windows are meant.
        setting: `ui.theme`: auto | light | dark; auto follows the system and its changes.
    """
    application.setStyle("Fusion")
    hints = application.styleHints()

    def follow() -> None:
        system_dark = hints.colorScheme() is Qt.ColorScheme.Dark
        application.setPalette(
            palette(dark=setting == "dark" or (setting == "auto" and system_dark))
        )

    follow()
    if setting == "auto":
        hints.colorSchemeChanged.connect(follow)


def is_dark(application_palette: QPalette) -> bool:
    """Whether a palette is dark."""
    return application_palette.color(_ROLES.Base).lightness() < 128
