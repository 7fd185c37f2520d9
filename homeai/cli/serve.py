"""`homeai serve`."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from homeai import logs
from homeai.cli.context import fail, note, paths, read_settings


@click.command()
@click.option("--host", help="Address to listen on (server.host).")
@click.option("--port", type=click.IntRange(0, 65535), help="Port; 0 picks one (server.port).")
@click.option("--model", help="Name or file of the model (model.active).")
@click.option("--set", "flags", multiple=True, metavar="SECTION.KEY=VALUE", help="Any setting.")
@click.option(
    "--ready-file",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Written once the model is ready.",
)
@click.option("--exit-with-parent", is_flag=True, help="End when standard input closes.")
@click.pass_context
def serve(
    ctx: click.Context,
    *,
    host: str | None,
    port: int | None,
    model: str | None,
    flags: tuple[str, ...],
    ready_file: Path | None,
    exit_with_parent: bool,
) -> None:
    """Serve the model to programs on this computer, or on the LAN if allowed."""
    extra = [*flags]
    if host is not None:
        extra.append(f"server.host={host}")
    if port is not None:
        extra.append(f"server.port={port}")
    layered = read_settings(extra)
    if model is not None and not model.strip():
        fail("--model: a name or a file is needed", 2)
    logs.set_up(paths().logs, "core", verbose=bool(ctx.obj and ctx.obj.get("verbose")))
    from homeai.service.run import Order
    from homeai.service.run import serve as run

    order = Order(layered.settings, paths(), ready_file, model, exit_with_parent)
    sys.exit(run(order, click.echo, note))
