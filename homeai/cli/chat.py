"""`homeai chat`."""

from __future__ import annotations

import sys
from collections.abc import Mapping

import click

from homeai.cli.context import EXIT_UNREACHABLE, fail, paths
from homeai.cli.core import Core, CoreRefused, CoreUnreachable, running_or_started

_INTERRUPTED = 130


@click.command()
@click.argument("text", required=False)
@click.option("--max-tokens", type=click.IntRange(1), help="Longest answer.")
@click.option("--temperature", type=click.FloatRange(0, 2), help="0 = always the most likely word.")
def chat(text: str | None, max_tokens: int | None, temperature: float | None) -> None:
    """Ask once, or have a conversation when TEXT is missing. `-` reads TEXT from standard input."""
    if text == "-" or (text is None and not sys.stdin.isatty()):
        text = sys.stdin.read()
    if text is not None and not text.strip():
        fail("there is no text to answer", 2)
    options = {"max_tokens": max_tokens, "temperature": temperature}
    try:
        with running_or_started(paths()) as core:
            if text is not None:
                _answer(core, [{"role": "user", "content": text}], options)
            else:
                _converse(core, options)
    except CoreUnreachable as error:
        fail(str(error), EXIT_UNREACHABLE)
    except CoreRefused as error:
        fail(str(error))
    except KeyboardInterrupt:
        click.echo()
        sys.exit(_INTERRUPTED)


def _converse(core: Core, options: Mapping[str, object]) -> None:
    click.echo("Ctrl-D ends the conversation, Ctrl-C stops an answer.", err=True)
    messages: list[dict[str, str]] = []
    while True:
        try:
            line = input("> ").strip()
        except EOFError:
            click.echo()
            return
        if not line:
            continue
        messages.append({"role": "user", "content": line})
        try:
            answer = _answer(core, messages, options)
        except KeyboardInterrupt:
            click.echo(" (stopped)")
            answer = ""
        except CoreRefused as error:
            click.echo(f"homeai: {error}", err=True)
            messages.pop()
            continue
        messages.append({"role": "assistant", "content": answer})


def _answer(core: Core, messages: list[dict[str, str]], options: Mapping[str, object]) -> str:
    body: dict[str, object] = {"messages": messages, "stream": True}
    body |= {name: value for name, value in options.items() if value is not None}
    parts = []
    for event in core.stream("/v1/chat/completions", body):
        for choice in event.get("choices", ()):
            part = choice["delta"].get("content") or ""
            parts.append(part)
            click.echo(part, nl=False)
    click.echo()
    return "".join(parts)
