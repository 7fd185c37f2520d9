"""A home of its own for every command, and a core that answers from a script."""

import os
import subprocess
import sys

import pytest
from click.testing import CliRunner

from homeai.cli.main import cli
from homeai.settings.paths import Paths
from tests.fakes.answering_core import AnsweringCore


@pytest.fixture(autouse=True)
def paths(homeai_home):
    return Paths.from_environment(os.environ)


@pytest.fixture
def run():
    """Runs a command in this process; standard output and error apart."""

    def invoke(*words, stdin=None):
        return CliRunner().invoke(cli, words, input=stdin, prog_name="homeai")

    return invoke


@pytest.fixture
def program():
    """Runs the real program; returns status, output and error as text."""

    def start(*words, stdin=b"", **environment):
        done = subprocess.run(
            [sys.executable, "-m", "homeai", *words],
            input=stdin,
            capture_output=True,
            env={**os.environ, **environment},
            timeout=60,
            check=False,
        )
        return done.returncode, done.stdout.decode("utf-8"), done.stderr.decode("utf-8")

    return start


@pytest.fixture
def core(paths):
    with AnsweringCore().serving() as core:
        core.announce(paths.core_file)
        yield core
