"""`homeai` without a command: the tray app, or the core alone where there is no display."""

from __future__ import annotations

import importlib.util
import os
import sys

import click

from homeai import logs
from homeai.cli.context import paths, read_settings


def start_desktop(*, hidden: bool, verbose: bool) -> int:
    """Start the desktop; returns the exit status.

    Without PySide6 or a display it says so in one line and serves headless.
    """
    reason = _missing()
    if reason is not None:
        click.echo(f"{reason}: serving without a window.", err=True)
        return _headless(verbose=verbose)
    logs.set_up(paths().logs, "desktop", verbose=verbose)
    from homeai.desktop.app import run_desktop

    return run_desktop(paths(), read_settings().settings, hidden=hidden)


def _missing() -> str | None:
    if importlib.util.find_spec("PySide6") is None:
        return "PySide6 is not installed"
    shown = ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM")
    if sys.platform == "linux" and not any(map(os.environ.get, shown)):
        return "There is no display"
    return None


def _headless(*, verbose: bool) -> int:
    logs.set_up(paths().logs, "core", verbose=verbose)
    from homeai.service.run import Order, serve

    return serve(Order(read_settings().settings, paths()), click.echo)
