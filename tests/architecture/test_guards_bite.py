"""The guards of tests/conftest.py are seen to catch what they guard against."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

OFFENDERS = """
import asyncio, os, socket, subprocess, sys, threading, time
import pytest

SLEEPER = [sys.executable, "-c", "import time; time.sleep(600)"]
HELD = []

def test_leaves_a_process():
    HELD.append(subprocess.Popen(SLEEPER))

def test_leaves_a_thread():
    stop = threading.Event()
    HELD.append(stop)
    threading.Thread(target=stop.wait, args=(3,), name="forgotten").start()

async def test_leaves_a_task():
    HELD.append(asyncio.ensure_future(asyncio.sleep(600)))

async def test_blocks_its_loop(tmp_path):
    from homeai.settings.files import write_private

    write_private(tmp_path / "file", b"written to the disk from within the loop")

def test_leaves_the_machine():
    socket.create_connection(("192.0.2.1", 80), timeout=1)

def test_asks_a_name_server():
    socket.getaddrinfo("example.org", 80)

def test_needs_what_is_not_there(needs_program):
    needs_program("no-such-program")

@pytest.mark.needs_program("no-such-program")
def test_is_marked_for_what_is_not_there():
    pass

def test_detaches_a_process():
    subprocess.Popen(["/bin/sh", "-c", 'setsid "$@" & exit 0', "sh", *SLEEPER],
                     stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                     stderr=subprocess.DEVNULL).wait()

def test_has_files_of_its_own(homeai_home):
    assert os.environ["HOMEAI_HOME"] == str(homeai_home)
"""


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory):
    folder = tmp_path_factory.mktemp("guarded")
    tests = folder / "tests"
    tests.mkdir()
    shutil.copy(ROOT / "tests/conftest.py", tests)
    shutil.copytree(ROOT / "tests/guards", tests / "guards")
    shutil.copy(ROOT / "pyproject.toml", folder)
    (tests / "test_offenders.py").write_text(OFFENDERS, "utf-8")
    environment = {name: value for name, value in os.environ.items() if name != "CI"}
    python_path = os.pathsep.join(map(str, (ROOT, ROOT / "packaging")))
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-v"],
        cwd=folder,
        env={**environment, "PYTHONPATH": python_path, "HOMEAI_TEST_GRACE_S": "0.5"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1, done.stdout + done.stderr
    return done.stdout


def verdicts(output, test):
    return re.findall(rf"::{test} (PASSED|FAILED|ERROR|SKIPPED)", output)


@pytest.mark.parametrize("test", ["test_leaves_a_process", "test_leaves_a_thread"])
def test_what_outlives_its_test_is_an_error(outcomes, test):
    assert verdicts(outcomes, test)[:2] == ["PASSED", "ERROR"]


@pytest.mark.parametrize(
    "test",
    [
        "test_leaves_a_task",
        "test_blocks_its_loop",
        "test_leaves_the_machine",
        "test_asks_a_name_server",
    ],
)
def test_what_is_forbidden_fails_the_test(outcomes, test):
    assert verdicts(outcomes, test)[:1] == ["FAILED"]


@pytest.mark.parametrize(
    "test", ["test_needs_what_is_not_there", "test_is_marked_for_what_is_not_there"]
)
def test_a_missing_program_skips_with_the_line_that_installs_it(outcomes, test):
    assert verdicts(outcomes, test) == ["SKIPPED"]
    assert re.search(r"needs no-such-program; .*no-such-program", outcomes)


def test_a_detached_process_is_found_at_the_end_of_the_run(outcomes):
    assert verdicts(outcomes, "test_detaches_a_process") == ["PASSED"]
    assert "processes left running" in outcomes


def test_an_honest_test_passes(outcomes):
    assert verdicts(outcomes, "test_has_files_of_its_own") == ["PASSED"]
