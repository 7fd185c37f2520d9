"""`homeai chat`."""

from __future__ import annotations

import sys
import unicodedata
from collections.abc import Generator, Mapping
from contextlib import closing

import click

from homeai.cli.client import Core, CoreRefused, CoreUnreachable
from homeai.cli.context import fail, paths
from homeai.cli.core import running_or_started
from homeai.cli.exits import EXIT_INTERRUPTED, EXIT_UNREACHABLE, EXIT_USAGE
from homeai.domain.request import SYSTEM_PROMPT


@click.command()
@click.argument("text", required=False)
@click.option("--max-tokens", type=click.IntRange(1), help="Longest answer.")
@click.option("--temperature", type=click.FloatRange(0, 2), help="0 = always the most likely word.")
def chat(text: str | None, max_tokens: int | None, temperature: float | None) -> None:
    """Ask once, or have a conversation when TEXT is missing. `-` reads TEXT from standard input."""
    if text == "-" or (text is None and not _is_terminal(sys.stdin)):
        text = _standard_input()
    if text is not None and not text.strip():
        fail("there is no text to answer", EXIT_USAGE)
    options = {"max_tokens": max_tokens, "temperature": temperature}
    try:
        with running_or_started(paths()) as core:
            if text is not None:
                _show(_answer(core, [_message("user", text)], options))
            else:
                _converse(core, options)
    except CoreUnreachable as error:
        fail(str(error), EXIT_UNREACHABLE)
    except CoreRefused as error:
        fail(str(error))
    except KeyboardInterrupt:
        click.echo()
        sys.exit(EXIT_INTERRUPTED)


def _is_terminal(stream: object) -> bool:
    isatty = getattr(stream, "isatty", None)  # a closed standard stream is None
    return isatty is not None and isatty()


def _standard_input() -> str:
    if sys.stdin is None:
        return ""
    try:
        return sys.stdin.buffer.read().decode("utf-8-sig")
    except UnicodeDecodeError:
        fail("standard input is not UTF-8 text", EXIT_USAGE)


def _message(role: str, content: str) -> dict[str, str]:
    return {"role": role, "content": content}


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
        messages.append(_message("user", line))
        shown: list[str] = []
        try:
            _show(_answer(core, messages, options), shown)
        except KeyboardInterrupt:
            click.echo(" (stopped)")
        except CoreRefused as error:
            click.echo(f"homeai: {error}", err=True)
        if shown:
            messages.append(_message("assistant", "".join(shown)))
        else:
            messages.pop()  # a question without an answer would stand beside the next question


def _show(answer: Generator[str], shown: list[str] | None = None) -> None:
    """Print the parts as they come; `shown` collects them, so that a stopped answer is not lost."""
    terminal = _is_terminal(sys.stdout)
    with closing(answer):  # ends the connection, so that the core stops its work
        for part in answer:
            if shown is not None:
                shown.append(part)
            click.echo(_harmless(part) if terminal else part, nl=False)
    click.echo()


def _harmless(text: str) -> str:
    """Without control characters: a model's text must not steer the terminal."""
    return "".join(c for c in text if c in "\n\t" or unicodedata.category(c) != "Cc")


def _answer(
    core: Core, messages: list[dict[str, str]], options: Mapping[str, object]
) -> Generator[str]:
    told = [{"role": "system", "content": SYSTEM_PROMPT}, *messages]
    body: dict[str, object] = {"messages": told, "stream": True}
    body |= {name: value for name, value in options.items() if value is not None}
    with closing(core.stream("/v1/chat/completions", body)) as events:
        for event in events:
            for choice in event.get("choices", ()):
                if part := choice["delta"].get("content"):
                    yield part
