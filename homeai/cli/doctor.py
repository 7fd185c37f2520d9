"""`homeai doctor`."""

from __future__ import annotations

import json
import sys
import zipfile
from pathlib import Path

import click

from homeai import logs
from homeai.cli.context import fail, paths
from homeai.cli.examination import examine
from homeai.cli.exits import EXIT_FAILED
from homeai.cli.finding import Finding

_LOG_TAIL = 200_000


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
    try:
        with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as bundle:
            # made anonymous before it becomes JSON, which spells a backslash twice
            report = [{k: _anonymous(v) for k, v in f.as_dict().items()} for f in findings]
            bundle.writestr("doctor.json", json.dumps(report, ensure_ascii=False, indent=1))
            for name in ("core.log", "desktop.log"):
                log = paths().logs / name
                if log.is_file():
                    tail = log.read_text(encoding="utf-8", errors="replace")[-_LOG_TAIL:]
                    bundle.writestr(name, _anonymous(tail))
    except OSError as error:
        fail(f"the bundle cannot be written: {error.strerror}")


def _anonymous(text: str) -> str:
    """Without this user's folders and keys."""
    here = paths()
    folders = {here.config, here.data, here.cache, here.logs, here.runtime, Path.home()}
    for folder in sorted(map(str, folders), key=len, reverse=True):
        text = text.replace(folder, "~")
    return logs.scrubbed(text)
