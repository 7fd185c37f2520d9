"""`homeai`: the group of all commands. Importing this module imports click only."""

from __future__ import annotations

import importlib
import os
import sys

import click

from homeai import __version__
from homeai.cli.exits import EXIT_FAILED

_COMMANDS = {
    "chat": ("homeai.cli.chat:chat", "Ask in the terminal."),
    "doctor": ("homeai.cli.doctor:doctor", "What is missing, and how to get it."),
    "keys": ("homeai.cli.keys:keys", "API keys for other devices."),
    "models": ("homeai.cli.models:models", "Model files."),
    "prove": ("homeai.cli.prove:prove", "Prove failover on this machine."),
    "serve": ("homeai.cli.serve:serve", "Serve without a window."),
    "settings": ("homeai.cli.settings:settings", "Show and change settings."),
    "status": ("homeai.cli.status:status", "What the running service does."),
}


class _LazyGroup(click.Group):
    """Imports a command's module when it is called, not to list it."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        module, _, name = _COMMANDS[cmd_name][0].partition(":")
        command = getattr(importlib.import_module(module), name)
        if not isinstance(command, click.Command):
            raise TypeError(cmd_name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in sorted(_COMMANDS.items())])


@click.group(cls=_LazyGroup, invoke_without_command=True)
@click.version_option(__version__, prog_name="homeai")
@click.option("-v", "--verbose", is_flag=True, help="Log more to standard error.")
@click.option("--hidden", is_flag=True, help="Start in the tray, without opening the window.")
@click.pass_context
def cli(ctx: click.Context, *, verbose: bool, hidden: bool) -> None:
    """A home PC as an AI server. Without a command the tray app starts."""
    ctx.ensure_object(dict)["verbose"] = verbose
    if ctx.invoked_subcommand is None:
        from homeai.cli.desktop import start_desktop

        sys.exit(start_desktop(hidden=hidden, verbose=verbose))


def main() -> None:
    """Entry point. Texts are UTF-8 whatever the locale says, files are the owner's alone."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(encoding="utf-8", errors="replace")
    os.umask(0o077)
    if sys.argv[1:2] == ["worker"]:  # how a packaged core starts its workers
        from homeai.worker.main import main as work

        sys.exit(work())
    try:
        cli(prog_name="homeai")
    except Exception as error:
        if {"-v", "--verbose"} & set(sys.argv[1:]):
            raise
        click.echo(f"homeai: {_sentence(error)}", err=True)
        sys.exit(EXIT_FAILED)


def _sentence(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        where = f": {error.filename}" if error.filename else ""
        return f"{error.strerror}{where}"
    return f"a fault of homeai ({type(error).__name__}); `homeai --verbose …` shows where"
