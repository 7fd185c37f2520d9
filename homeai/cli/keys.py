"""`homeai keys`."""

from __future__ import annotations

import json

import click

from homeai.cli.context import fail, paths
from homeai.cli.exits import EXIT_USAGE
from homeai.settings.keys import KeyFileError, KeyNameError, KeyRing


@click.group()
def keys() -> None:
    """API keys by which other devices are let in."""


def _ring() -> KeyRing:
    return KeyRing(paths().keys_file)


@keys.command("list")
@click.option("--json", "as_json", is_flag=True, help="Machine-readable.")
def list_keys(*, as_json: bool) -> None:
    """Names and dates; secrets are not kept."""
    try:
        found = _ring().list()
    except KeyFileError as error:
        fail(str(error))
    if as_json:
        entries = [{"name": key.name, "created": key.created} for key in found]
        click.echo(json.dumps(entries, ensure_ascii=False))
        return
    for key in found:
        click.echo(f"{key.created}  {key.name}")
    if not found:
        click.echo("There are no keys. Make one with `homeai keys create NAME`.", err=True)


@keys.command()
@click.argument("name")
def create(name: str) -> None:
    """Make a key; its secret is shown now and never again."""
    try:
        secret = _ring().create(name)
    except KeyNameError as error:
        fail(str(error), EXIT_USAGE)
    except KeyFileError as error:
        fail(str(error))
    except OSError as error:
        fail(f"the key file cannot be written: {error.strerror}")
    click.echo(secret)
    click.echo(
        "Keep it now: it is shown once. Clients send it as `Authorization: Bearer …`.", err=True
    )


@keys.command()
@click.argument("name")
def revoke(name: str) -> None:
    """Take a key back; it stops working at once."""
    try:
        if not _ring().revoke(name):
            fail(f"there is no key named {name!r}; `homeai keys list` shows all")
    except KeyFileError as error:
        fail(str(error))
    except OSError as error:
        fail(f"the key file cannot be written: {error.strerror}")
    click.echo(f"The key {name} is revoked.")
