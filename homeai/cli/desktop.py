"""`homeai` without a command: the tray app, or the core alone where there is no display."""

from __future__ import annotations

import importlib.util
import os

import click

from homeai import logs
from homeai.cli.context import note, paths, read_settings
from homeai.cli.display import has_display


def start_desktop(*, hidden: bool, verbose: bool) -> int:
    """Start the desktop; returns the exit status.

    Without PySide6, its system libraries or a display it says so in one line and serves headless.
    """
    reason = _missing()
    if reason is None:
        try:
            from homeai.desktop.app import run_desktop
        except ImportError as error:
            if error.name is not None and error.name.startswith("homeai"):
                raise  # a fault of ours, not of this machine
            reason = f"The window's libraries do not load ({error})"
        else:
            logs.set_up(paths().logs, "desktop", verbose=verbose)
            return run_desktop(paths(), read_settings().settings, hidden=hidden)
    click.echo(f"{reason}: serving without a window.", err=True)
    return _headless(verbose=verbose)


def _missing() -> str | None:
    if importlib.util.find_spec("PySide6") is None:
        return "PySide6 is not installed"
    return None if has_display(os.environ) else "There is no display"


def _headless(*, verbose: bool) -> int:
    logs.set_up(paths().logs, "core", verbose=verbose)
    from homeai.service.run import Order, serve

    return serve(Order(read_settings().settings, paths()), click.echo, note)
