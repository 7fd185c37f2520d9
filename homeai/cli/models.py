"""`homeai models`."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path

import click

from homeai.cli.context import fail, paths, read_settings
from homeai.models.catalogue import Catalogue, ModelEntry
from homeai.models.integrity import KNOWN, sha256
from homeai.models.problems import ModelFileError

_GIB, _MIB = 2**30, 2**20


@click.group()
def models() -> None:
    """Model files: which there are, adding, checking."""


def _catalogue() -> Catalogue:
    layered = read_settings()
    return Catalogue(paths().models, map(Path, layered.settings.model.folders))


def _find(name: str) -> tuple[Catalogue, ModelEntry]:
    catalogue = _catalogue()
    entry = catalogue.find(name)
    if entry is None:
        fail(f"there is no model {Path(name).name!r}; `homeai models list` shows all")
    return catalogue, entry


def _size(value: int) -> str:
    return f"{value / _GIB:.1f} GiB" if value >= _GIB else f"{value / _MIB:.0f} MiB"


def _as_dict(entry: ModelEntry) -> dict[str, object]:
    return {
        "name": entry.name,
        "created": entry.created,
        "tiny": entry.tiny,
        "problem": entry.problem.message if entry.problem else None,
        "facts": asdict(entry.facts) if entry.facts else None,
    }


@models.command("list")
@click.option("--json", "as_json", is_flag=True, help="Machine-readable.")
def list_models(*, as_json: bool) -> None:
    """All model files, usable or not."""
    entries = _catalogue().entries()
    if as_json:
        click.echo(json.dumps([_as_dict(e) for e in entries], ensure_ascii=False, indent=1))
        return
    for entry in entries:
        if entry.facts is None:
            click.echo(f"{entry.name}: {entry.problem.message if entry.problem else ''}")
            continue
        facts = entry.facts
        size = f"{facts.parameters / 1e9:.2f}B {facts.quantisation}, {_size(facts.size_bytes)}"
        tiny = "; tiny: good for a first try, often wrong" if entry.tiny else ""
        click.echo(f"{entry.name}: {facts.architecture} {size}{tiny}")
    if not entries:
        click.echo("There are no models. Add one with `homeai models add FILE`.", err=True)


@models.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--link", is_flag=True, help="Use the file where it lies instead of copying it.")
def add(file: Path, *, link: bool) -> None:
    """Take a GGUF file into homeai's model folder."""
    try:
        entry = _catalogue().add(file, link=link)
    except ModelFileError as error:
        fail(error.message)
    except OSError as error:
        fail(f"the file cannot be added: {error.strerror}")
    click.echo(f"{entry.name} is added.")
    if entry.facts is not None and not entry.facts.chat_template:
        click.echo(
            "note: it brings no chat template, so it can complete text but not chat.", err=True
        )


@models.command()
@click.argument("name")
def remove(name: str) -> None:
    """Delete a file of homeai's model folder."""
    catalogue, entry = _find(name)
    try:
        catalogue.remove(entry)
    except ModelFileError as error:
        fail(error.message)
    except OSError as error:
        fail(f"the file cannot be deleted: {error.strerror}")
    click.echo(f"{entry.name} is removed.")


@models.command()
@click.argument("name")
@click.option("--json", "as_json", is_flag=True, help="Machine-readable.")
def inspect(name: str, *, as_json: bool) -> None:
    """What a model file says of itself."""
    _, entry = _find(name)
    if entry.facts is None:
        fail(entry.problem.message if entry.problem else "the file cannot be read")
    if as_json:
        click.echo(json.dumps(_as_dict(entry), ensure_ascii=False, indent=1))
        return
    for key, value in asdict(entry.facts).items():
        click.echo(f"{key:<15}{value}")


@models.command()
@click.argument("name")
def verify(name: str) -> None:
    """Read the whole file and compare it with what is known of it."""
    catalogue, entry = _find(name)
    if entry.facts is None:
        fail(entry.problem.message if entry.problem else "the file cannot be read")
    interactive = sys.stderr.isatty()

    def progress(fraction: float) -> bool:
        if interactive:
            click.echo(f"\r{fraction:4.0%}", nl=False, err=True)
        return True

    try:
        digest = sha256(entry.path, progress)
    except OSError as error:
        fail(f"the file cannot be read: {error.strerror}")
    if interactive:
        click.echo(err=True)
    recorded = catalogue.recorded_hash(entry)
    if recorded is not None and recorded != digest:
        fail(f"{entry.name} has changed since it was added: its SHA-256 is {digest}")
    known = KNOWN.get(digest)
    if known is not None:
        click.echo(f"{entry.name}: intact, the known file {known.name} ({known.licence})")
    elif recorded is not None:
        click.echo(f"{entry.name}: unchanged since it was added")
    else:
        click.echo(
            f"{entry.name}: header and data are complete; no hash was recorded to compare with"
        )
    click.echo(f"sha256 {digest}")
