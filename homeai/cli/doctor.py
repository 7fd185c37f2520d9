"""`homeai doctor`."""

from __future__ import annotations

import json
import sys
import zipfile
from pathlib import Path

import click

from homeai.cli.context import EXIT_FAILED, fail, paths
from homeai.cli.examination import Finding, examine


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Machine-readable.")
@click.option(
    "--bundle",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write a ZIP for a bug report; it holds no key, no prompt, no name of yours.",
)
def doctor(*, as_json: bool, bundle: Path | None) -> None:
    """Check what homeai needs, and say how to get what is missing."""
    findings = examine(paths())
    if as_json:
        click.echo(json.dumps([f.as_dict() for f in findings], ensure_ascii=False, indent=1))
    else:
        for finding in findings:
            click.echo(f"{finding.verdict:<5}{finding.name}: {finding.text}")
            if finding.remedy:
                click.echo(f"     {finding.remedy}")
    if bundle is not None:
        _write(bundle, findings)
        click.echo(f"The bundle is written to {bundle}.", err=True)
    if any(finding.verdict == "fail" for finding in findings):
        sys.exit(EXIT_FAILED)


def _write(target: Path, findings: list[Finding]) -> None:
    log = paths().logs / "core.log"
    try:
        with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as bundle:
            report = json.dumps([f.as_dict() for f in findings], ensure_ascii=False, indent=1)
            bundle.writestr("doctor.json", _anonymous(report))
            if log.is_file():
                tail = log.read_text(encoding="utf-8", errors="replace")[-200_000:]
                bundle.writestr("core.log", _anonymous(tail))
    except OSError as error:
        fail(f"the bundle cannot be written: {error.strerror}")


def _anonymous(text: str) -> str:
    """Without this user's folders."""
    here = paths()
    folders = {here.config, here.data, here.cache, here.logs, here.runtime, Path.home()}
    for folder in sorted(map(str, folders), key=len, reverse=True):
        text = text.replace(folder, "~")
    return text
