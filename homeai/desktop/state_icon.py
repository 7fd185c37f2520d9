"""The tray's picture, drawn for each state: told apart by shape, not by colour alone."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QIcon, QPainter, QPainterPath, QPen, QPixmap

from homeai.desktop.states import Look

_SIZES = (16, 22, 24, 32, 48, 64, 128)
_HOUSE, _PAPER = "#2f6fb7", "#ffffff"


def state_icon(look: Look) -> QIcon:
    """Return the icon of a state: a house with a mark in it."""
    icon = QIcon()
    for size in _SIZES:
        icon.addPixmap(_draw(look, size))
    return icon


def _draw(look: Look, size: int) -> QPixmap:
    pixmap = QPixmap(size, size)
    pixmap.fill(Qt.GlobalColor.transparent)
    painter = QPainter(pixmap)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.scale(size / 64, size / 64)
    house = QPainterPath(QPointF(32, 4))
    for x, y in ((61, 31), (53, 31), (53, 60), (11, 60), (11, 31), (3, 31)):
        house.lineTo(x, y)
    house.closeSubpath()
    pen = QPen(QColor(_PAPER), 3)
    pen.setJoinStyle(Qt.PenJoinStyle.RoundJoin)
    painter.setPen(pen)
    painter.setBrush(QColor(_HOUSE if look is not Look.STOPPED else "#6d6d68"))
    painter.drawPath(house)
    _MARKS[look](painter)
    painter.end()
    return pixmap


def _pen(painter: QPainter, width: float) -> None:
    pen = QPen(QColor(_PAPER), width)
    pen.setCapStyle(Qt.PenCapStyle.RoundCap)
    painter.setPen(pen)
    painter.setBrush(Qt.BrushStyle.NoBrush)


def _speech(painter: QPainter) -> None:
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(QColor(_PAPER))
    painter.drawRoundedRect(QRectF(19, 28, 26, 17), 6, 6)
    tail = QPainterPath(QPointF(24, 44))
    tail.lineTo(24, 53)
    tail.lineTo(33, 44)
    painter.drawPath(tail)


def _working(painter: QPainter) -> None:
    _speech(painter)
    painter.setBrush(QColor(_HOUSE))
    for x in (25, 32, 39):
        painter.drawEllipse(QPointF(x, 36.5), 2.6, 2.6)


def _loading(painter: QPainter) -> None:
    _pen(painter, 5)
    painter.drawArc(QRectF(22, 29, 20, 20), 90 * 16, -270 * 16)


def _bar(painter: QPainter) -> None:
    _pen(painter, 6)
    painter.drawLine(QPointF(22, 41), QPointF(42, 41))


def _error(painter: QPainter) -> None:
    _pen(painter, 6)
    painter.drawLine(QPointF(32, 26), QPointF(32, 42))
    painter.drawPoint(QPointF(32, 53))


_MARKS: dict[Look, Callable[[QPainter], None]] = {
    Look.IDLE: _speech,
    Look.WORKING: _working,
    Look.LOADING: _loading,
    Look.STOPPED: _bar,
    Look.ERROR: _error,
}
