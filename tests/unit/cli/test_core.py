"""The running core, or one that is started for a command."""

import os
import socket
import subprocess
import sys

import pytest

from homeai.cli.client import CoreUnreachable
from homeai.cli.core import running, running_or_started
from homeai.settings import corefile
from homeai.settings.files import hold
from tests.fakes.answering_core import TOKEN


def test_a_running_core_is_used_and_left_running(core, paths):
    with running_or_started(paths) as found:
        assert (found.url, found.token) == (core.url, TOKEN)

    assert running(paths).url == core.url


def test_without_a_core_there_is_none(paths):
    with pytest.raises(CoreUnreachable, match="not running"):
        running(paths)


def test_a_started_core_answers_and_is_gone_afterwards(paths):
    with running_or_started(paths) as found:
        pid = corefile.read(paths.core_file).pid
        assert pid != os.getpid()
        assert found.get("/homeai/v1/status")["state"]

    assert corefile.read(paths.core_file) is None
    assert not paths.core_file.exists()


def test_a_started_core_is_gone_after_a_failure_too(paths):
    with pytest.raises(RuntimeError), running_or_started(paths):
        raise RuntimeError

    assert not paths.core_file.exists()


def test_why_a_core_cannot_be_started_is_told(paths):
    with (
        hold(corefile.lock_file(paths.core_file)),
        pytest.raises(CoreUnreachable, match="running already"),
        running_or_started(paths),
    ):
        pass


posix = pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX signals and locks")

KILLED = """
import os, sys
from homeai.cli.core import running_or_started
from homeai.settings.paths import Paths
with running_or_started(Paths.from_environment(os.environ)) as core:
    print(core.url, flush=True)
    sys.stdin.read()
"""


@posix
def test_ctrl_c_in_the_terminal_does_not_reach_a_started_core(paths):
    with running_or_started(paths):
        core = corefile.read(paths.core_file).pid

        # A terminal sends the signal to the whole group of the command in front, and to no other.
        assert os.getpgid(core) != os.getpgid(0)


@posix
def test_a_started_core_ends_when_the_command_is_killed(paths):
    with subprocess.Popen(
        [sys.executable, "-c", KILLED], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as command:
        port = int(command.stdout.readline().rpartition(":")[2])
        command.kill()
    lock = corefile.lock_file(paths.core_file)

    import fcntl

    with open(lock, "ab") as file:
        fcntl.flock(file, fcntl.LOCK_EX)  # waits until the core is gone

    with socket.socket() as probe:
        assert probe.connect_ex(("127.0.0.1", port)) != 0


@pytest.mark.slow
def test_one_answer_from_a_core_started_for_it(program, paths, starter_model):
    status, _, errors = program("models", "add", str(starter_model), "--link")
    assert status == 0, errors

    status, output, errors = program(
        "chat", "Say hello.", "--max-tokens", "4", "--temperature", "0"
    )

    assert (status, errors) == (0, "")
    assert output.strip()
    assert not paths.core_file.exists()
