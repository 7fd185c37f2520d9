"""`homeai prove`: the failover proof on this machine."""

from __future__ import annotations

import sys
from pathlib import Path

import click
import msgspec

from homeai.cli.context import fail, paths, read_settings
from homeai.cli.exits import EXIT_FAILED


@click.command()
@click.option("--full", is_flag=True, help="Also every kind of death of a simulated GPU.")
@click.option(
    "--json", "json_file", type=click.Path(path_type=Path), help="Write all figures there."
)
@click.option("--html", "html_file", type=click.Path(path_type=Path), help="Write a page there.")
@click.option("--model", default="", help="Name or file of the model; else the active one.")
def prove(*, full: bool, json_file: Path | None, html_file: Path | None, model: str) -> None:
    """Break the GPU on purpose, and show that every promise holds."""
    from homeai.hardware.engine_backends import accelerator_backends
    from homeai.models.catalogue import Catalogue
    from homeai.proof.device.build import CannotBuild
    from homeai.proof.house import HouseFailed
    from homeai.proof.page import render
    from homeai.proof.prove import Proof

    settings, place = read_settings().settings, paths()
    catalogue = Catalogue(place.models, map(Path, settings.model.folders))
    entry = catalogue.choose(model or settings.model.active)
    if entry is None:
        fail("there is no such model; `homeai models list` shows all")
    cache = place.cache / "simulated-gpu"
    proof = Proof(entry.path, cache, real_gpu=bool(accelerator_backends()), say=click.echo)
    try:
        report = proof.run(full=full)
    except (CannotBuild, HouseFailed) as error:
        fail(f"the proof cannot run. {error}")
    if json_file is not None:
        json_file.write_bytes(msgspec.json.format(msgspec.json.encode(report.body()), indent=1))
    if html_file is not None:
        html_file.write_text(render(report), encoding="utf-8")
    click.echo("")
    for scene in report.scenes:
        for check in scene.checks:
            if check.held is not True:
                word = "not tried" if check.held is None else "BROKEN"
                click.echo(f"{word}: {scene.name}: {check.promise} ({check.seen})")
    kept = sum(check.held is True for scene in report.scenes for check in scene.checks)
    click.echo(f"{kept} promises held with {report.device}.")
    if not report.held:
        sys.exit(EXIT_FAILED)
