"""`homeai status`."""

from __future__ import annotations

import json
from typing import Any

import click

from homeai.cli.client import CoreRefused, CoreUnreachable
from homeai.cli.context import fail, paths
from homeai.cli.core import running
from homeai.cli.exits import EXIT_UNREACHABLE

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
    degraded = snapshot["degraded"]
    if degraded:
        click.echo(
            f"degraded: {degraded['reason']}, on {degraded['device']} since {degraded['since']}"
        )
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
    if len(snapshot["workers"]) > 1:
        fallback = snapshot["fallback"]
        armed = "armed" if fallback["armed"] else f"not armed: {fallback['reason']}"
        click.echo(f"fallback: {armed} (standby {fallback['standby']})")
    click.echo(f"requests: {queue['running']} running, {queue['waiting']} waiting")
    for device in snapshot["devices"]:
        free, total = device["free_bytes"], device["total_bytes"]
        known = free is not None and total is not None
        click.echo(f"{device['name']}: " + (_of(free, total) if known else "memory unknown"))
    if ram["available_bytes"] is not None:
        click.echo(f"RAM: {ram['available_bytes'] / _MIB:.0f} MiB available")


def _of(free: int, total: int) -> str:
    return f"{free / _MIB:.0f} of {total / _MIB:.0f} MiB free"
