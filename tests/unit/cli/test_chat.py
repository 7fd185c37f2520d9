"""`homeai chat`, against a core that answers from a script."""

import json
import os
import signal
import subprocess
import sys

import pytest

from homeai.domain.request import SYSTEM_PROMPT
from homeai.settings import corefile
from tests.fakes.answering_core import DONE, ENDLESS, chunk


def bodies(core):
    return [json.loads(body) for _, _, _, body in core.requests]


def conversation(core):
    """What the last request told, after the system prompt."""
    system, *messages = bodies(core)[-1]["messages"]
    assert system == {"role": "system", "content": SYSTEM_PROMPT}
    return [message["content"] for message in messages]


def test_the_answer_is_printed_as_it_streams(run, core):
    core.answers(chunk("Grüß "), b": homeai {}\n\n", chunk("Gott"), chunk(""), DONE)

    result = run("chat", "Hallo", "--max-tokens", "8", "--temperature", "0")

    assert (result.exit_code, result.stdout, result.stderr) == (0, "Grüß Gott\n", "")
    assert bodies(core) == [
        {
            "messages": [
                {"role": "system", "content": SYSTEM_PROMPT},
                {"role": "user", "content": "Hallo"},
            ],
            "stream": True,
            "max_tokens": 8,
            "temperature": 0,
        }
    ]


@pytest.mark.parametrize("words", [(), ("-",)], ids=["piped", "dash"])
def test_the_text_is_read_from_standard_input(run, core, words):
    core.answers(chunk("ja"), DONE)

    result = run("chat", *words, stdin="Größe\nzwei")

    assert result.exit_code == 0
    assert conversation(core) == ["Größe\nzwei"]


@pytest.mark.parametrize("locale", ["C", "de_DE.ISO-8859-1"])
def test_standard_input_is_utf8_whatever_the_locale_says(program, core, locale):
    core.answers(chunk("schön"), DONE)

    status, output, _ = program("chat", stdin="Größe".encode(), LC_ALL=locale)

    assert (status, output) == (0, "schön\n")
    assert conversation(core) == ["Größe"]


def test_standard_input_that_is_no_utf8_is_wrong_usage(run, core):
    result = run("chat", stdin=b"\xff\xfe")

    assert (result.exit_code, result.stderr) == (2, "homeai: standard input is not UTF-8 text\n")


@pytest.mark.parametrize("text", ["", " \n"])
def test_nothing_to_answer_is_wrong_usage(run, text):
    assert run("chat", text).exit_code == 2
    assert run("chat", stdin=text).exit_code == 2


def test_a_refusal_is_one_line(run, core):
    core.answers(b'{"error": {"message": "the line is full"}}', status=503)

    result = run("chat", "x")

    assert (result.exit_code, result.stderr) == (1, "homeai: the line is full\n")


def test_an_error_within_the_stream_keeps_what_was_said_and_fails(run, core):
    core.answers(chunk("Es war"), b'data: {"error": {"message": "the worker failed"}}\n\n')

    result = run("chat", "x")

    assert result.exit_code == 1
    assert result.stdout.startswith("Es war")
    assert result.stderr == "homeai: the worker failed\n"


def test_an_answer_cut_off_is_not_taken_for_a_whole_one(run, core):
    core.answers(chunk("Es war"))

    result = run("chat", "x")

    assert result.exit_code == 4
    assert "ended too early" in result.stderr


def test_nobody_at_the_announced_address_is_status_four(run, core, paths):
    announced = corefile.read(paths.core_file)
    gone = corefile.CoreFile("http://127.0.0.1:1", announced.pid, "t", "0", announced.started_at)
    corefile.write(paths.core_file, gone)

    result = run("chat", "x")

    assert result.exit_code == 4
    assert result.stderr == "homeai: nobody answers at http://127.0.0.1:1\n"


def test_ctrl_c_ends_the_command_and_the_cores_work(core):
    core.answers(chunk("endlos"), ENDLESS)
    with subprocess.Popen(
        [sys.executable, "-m", "homeai", "chat", "x"],
        stdout=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
    ) as chat:
        assert chat.stdout.read(6) == b"endlos"
        chat.send_signal(signal.SIGINT)

        assert core.disconnected.wait(30)
        assert chat.wait(30) == 130


@pytest.mark.skipif(sys.platform == "win32", reason="needs a terminal of its own")
class TestTerminal:
    """Conversations, through a real terminal."""

    @pytest.fixture
    def terminal(self):
        import pty

        master, slave = pty.openpty()
        chat = subprocess.Popen(
            [sys.executable, "-m", "homeai", "chat"],
            stdin=slave,
            stdout=slave,
            stderr=slave,
            env={**os.environ, "TERM": "dumb"},
            start_new_session=True,
        )
        os.close(slave)
        seen = b""

        def until(text):
            nonlocal seen
            while text not in seen:
                seen += os.read(master, 4096)
            before, _, seen = seen.partition(text)
            return before

        def type_in(text):
            os.write(master, text.encode())

        chat.until, chat.type_in = until, type_in
        yield chat
        chat.kill()
        chat.wait()
        os.close(master)

    def test_a_conversation_carries_what_was_said(self, terminal, core):
        core.answers(chunk("eins"), DONE)
        core.answers(chunk("zwei"), DONE)

        for question, answer in (("a", b"eins"), ("b", b"zwei")):
            terminal.until(b"> ")
            terminal.type_in(f"{question}\n")
            terminal.until(answer)
        terminal.until(b"> ")
        terminal.type_in("\x04")

        assert terminal.wait(30) == 0
        assert conversation(core) == ["a", "eins", "b"]

    def test_ctrl_c_stops_an_answer_and_the_conversation_goes_on_with_what_was_said(
        self, terminal, core
    ):
        core.answers(chunk("endlos"), ENDLESS)
        core.answers(chunk("fertig"), DONE)

        terminal.until(b"> ")
        terminal.type_in("a\n")
        terminal.until(b"endlos")
        terminal.send_signal(signal.SIGINT)
        terminal.until(b"(stopped)")
        assert core.disconnected.wait(30)
        terminal.until(b"> ")
        terminal.type_in("b\n")
        terminal.until(b"fertig")

        assert conversation(core) == ["a", "endlos", "b"]

    def test_a_refused_question_is_forgotten_and_the_conversation_goes_on(self, terminal, core):
        core.answers(b'{"error": {"message": "the line is full"}}', status=503)
        core.answers(chunk("ja"), DONE)

        terminal.until(b"> ")
        terminal.type_in("a\n")
        terminal.until(b"the line is full")
        terminal.until(b"> ")
        terminal.type_in("b\n")
        terminal.until(b"ja")

        assert conversation(core) == ["b"]

    def test_the_models_text_cannot_steer_the_terminal(self, terminal, core):
        core.answers(chunk("a\x1b]0;title\x07b\x9b2Jc\td"), DONE)

        terminal.until(b"> ")
        terminal.type_in("x\n")

        assert terminal.until(b"d\r\n").splitlines()[-1] == b"a]0;titleb2Jc\t"
