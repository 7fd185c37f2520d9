"""`homeai status`."""

from __future__ import annotations

import json
from typing import Any

import click

from homeai.cli.context import EXIT_UNREACHABLE, fail, paths
from homeai.cli.core import CoreRefused, CoreUnreachable, running

_MIB = 2**20


@click.command()
@click.option("--json", "as_json", is_flag=True, help="The whole status as JSON.")
def status(*, as_json: bool) -> None:
    """What the running service does."""
    try:
        core = running(paths())
        snapshot = core.get("/homeai/v1/status")
    except CoreUnreachable as error:
        fail(str(error), EXIT_UNREACHABLE)
    except CoreRefused as error:
        fail(str(error))
    if as_json:
        click.echo(json.dumps(snapshot, ensure_ascii=False, indent=1))
        return
    click.echo(f"{snapshot['state']} at {core.url}")
    if snapshot["problem"]:
        click.echo(f"problem: {snapshot['problem']}")
    _show(snapshot)


def _show(snapshot: dict[str, Any]) -> None:
    model, queue, ram = snapshot["model"], snapshot["queue"], snapshot["ram"]
    if model:
        click.echo(f"model: {model['name']}, {model['context_tokens']} tokens of context")
    for worker in snapshot["workers"]:
        rss = worker["memory"]["rss_bytes"]
        memory = "" if rss is None else f", {rss / _MIB:.0f} MiB"
        progress = worker["load_progress"]
        loading = "" if progress is None else f", loading {progress:.0%}"
        click.echo(f"worker {worker['name']}: {worker['state']}{loading}{memory}")
        if worker["last_failure"]:
            click.echo(f"  last failure: {worker['last_failure']} ({worker['restarts']} restarts)")
    click.echo(f"requests: {queue['running']} running, {queue['waiting']} waiting")
    if ram["available_bytes"] is not None:
        click.echo(f"RAM: {ram['available_bytes'] / _MIB:.0f} MiB available")
