"""What every command starts with: folders, settings, one-line errors."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import NoReturn

import click

from homeai.cli.exits import EXIT_FAILED, EXIT_USAGE
from homeai.settings.paths import Paths
from homeai.settings.store import Layered, SettingsError, load


def paths() -> Paths:
    """This user's folders."""
    return Paths.from_environment(os.environ)


def read_settings(flags: Sequence[str] = ()) -> Layered:
    """All layers; problems are told, an unusable value ends the command with status 2."""
    try:
        layered = load(paths().settings_file, os.environ, flags)
    except SettingsError as error:
        fail(str(error), EXIT_USAGE)
    note(*layered.problems)
    return layered


def note(*sentences: str) -> None:
    """Tell on standard error what the user should know though the command goes on."""
    for sentence in sentences:
        click.echo(f"note: {sentence}", err=True)


def fail(message: str, status: int = EXIT_FAILED) -> NoReturn:
    """End the command with one line on standard error."""
    click.echo(f"homeai: {message}", err=True)
    sys.exit(status)
