"""`homeai settings`."""

from __future__ import annotations

import json
import os
from typing import Any

import click

from homeai.cli.context import fail, note, paths, read_settings
from homeai.cli.exits import EXIT_USAGE
from homeai.settings import store
from homeai.settings.schema import KEYS, Settings


@click.group()
def settings() -> None:
    """Show and change settings."""


def _value(values: Settings, key: str) -> Any:  # noqa: ANN401 -- any setting's type
    section, name = key.split(".", 1)
    return getattr(getattr(values, section), name)


def _shown(value: Any) -> str:  # noqa: ANN401 -- any setting's type
    if isinstance(value, bool):
        return str(value).lower()
    return ",".join(value) if isinstance(value, tuple) else str(value)


def _checked(key: str) -> str:
    try:
        store.require_key(key)
    except store.SettingsError as error:
        fail(str(error), EXIT_USAGE)
    return key


@settings.command("list")
@click.option("--json", "as_json", is_flag=True, help="Machine-readable.")
def list_settings(*, as_json: bool) -> None:
    """All settings, their values, and where each value comes from."""
    layered = read_settings()
    if as_json:
        entries = {
            key: {"value": _value(layered.settings, key), "source": layered.source(key)}
            for key in KEYS
        }
        click.echo(json.dumps(entries, ensure_ascii=False, indent=1))
        return
    width = max(map(len, KEYS))
    for key in KEYS:
        source = layered.source(key)
        note = "" if source == "default" else f"  ({source})"
        click.echo(f"{key:<{width}}  {_shown(_value(layered.settings, key))}{note}")


@settings.command()
@click.argument("key")
@click.option("--json", "as_json", is_flag=True, help="Machine-readable.")
def get(key: str, *, as_json: bool) -> None:
    """The value in force."""
    value = _value(read_settings().settings, _checked(key))
    click.echo(json.dumps(value, ensure_ascii=False) if as_json else _shown(value))


@settings.command("set")
@click.argument("key")
@click.argument("value")
def set_value(key: str, value: str) -> None:
    """Write a value to the settings file."""
    try:
        note(*store.set_in_file(paths().settings_file, key, value))
    except store.SettingsError as error:
        fail(str(error), EXIT_USAGE)
    except OSError as error:
        fail(f"the settings file cannot be written: {error.strerror}")
    _tell(key, store.check(key, value), "file")


@settings.command()
@click.argument("key")
def reset(key: str) -> None:
    """Go back to the default."""
    try:
        note(*store.reset_in_file(paths().settings_file, _checked(key)))
    except store.SettingsError as error:
        fail(str(error), EXIT_USAGE)
    except OSError as error:
        fail(f"the settings file cannot be written: {error.strerror}")
    _tell(key, _value(Settings(), key), "default")


def _tell(key: str, value: object, wanted: str) -> None:
    """Confirm a change, and say what keeps it from taking effect."""
    click.echo(f"{key} = {_shown(value)}")
    try:
        source = store.load(paths().settings_file, os.environ).source(key)
    except store.SettingsError as error:
        note(str(error))  # about another value; this one is written
    else:
        if source != wanted:
            note(f"a value from the {source} is in force instead")


@settings.command()
def path() -> None:
    """Where the settings file is."""
    click.echo(str(paths().settings_file))


@settings.command(hidden=True)
def document() -> None:
    """Print docs/SETTINGS.md."""
    from homeai.settings.document import markdown

    click.echo(markdown(), nl=False)
