"""How other programs find the running core."""

import json
import os
import subprocess
import sys

import psutil
import pytest

from homeai.settings import corefile
from homeai.settings.corefile import CoreFile
from homeai.settings.files import hold

ME = CoreFile(
    "http://127.0.0.1:8484", os.getpid(), "token", "0.1.0", psutil.Process().create_time()
)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "run" / "core.json"


def changed(path, **fields):
    corefile.write(path, ME)
    path.write_text(json.dumps({**json.loads(path.read_text()), **fields}))


def test_a_running_core_is_found(path):
    corefile.write(path, ME)

    assert corefile.read(path) == ME


def test_without_a_file_there_is_no_core(path):
    assert corefile.read(path) is None


def test_a_core_whose_process_ended_is_not_found(path):
    child = subprocess.Popen([sys.executable, "-c", ""])
    started = psutil.Process(child.pid).create_time()
    child.wait()
    corefile.write(path, CoreFile("http://x", child.pid, "t", "1", started))

    assert corefile.read(path) is None


def test_another_process_with_the_same_number_is_not_the_core(path):
    changed(path, started_at=ME.started_at - 1000)

    assert corefile.read(path) is None


def test_a_core_is_found_although_the_clock_was_set_after_it_started(path):
    changed(path, started_at=ME.started_at - 7200)
    with hold(corefile.lock_file(path)):
        found = corefile.read(path)

    assert found.pid == ME.pid


def test_the_lock_is_the_one_that_a_core_holds(path):
    assert corefile.lock_file(path) == path.parent / "core.lock"


@pytest.mark.parametrize(
    "content",
    [
        "",
        "{",
        "[]",
        "5",
        "{}",
        '{"url": "http://x"}',
        "[" * 100_000,
        "\ud800".encode("utf-8", "surrogatepass").decode("latin-1"),
    ],
    ids=["empty", "cut off", "list", "number", "nothing", "a part", "nesting", "bytes"],
)
def test_a_broken_file_is_no_core(path, content):
    path.parent.mkdir()
    path.write_text(content, encoding="latin-1")

    assert corefile.read(path) is None
    corefile.remove(path, os.getpid())
    assert path.exists()


@pytest.mark.parametrize(
    "fields",
    [
        {"pid": "1"},
        {"pid": True},
        {"pid": -1},
        {"pid": 2**70},
        {"pid": None},
        {"url": 5},
        {"token": None},
        {"started_at": "x"},
        {"started_at": float("nan")},
        {"more": 1},
    ],
    ids=str,
)
def test_a_field_of_a_wrong_kind_is_no_core(path, fields):
    changed(path, **fields)

    assert corefile.read(path) is None


def test_a_core_withdraws_its_own_announcement_only(path):
    corefile.write(path, ME)

    corefile.remove(path, ME.pid + 1)
    assert corefile.read(path) == ME

    corefile.remove(path, ME.pid)
    assert not path.exists()
    corefile.remove(path, ME.pid)


@pytest.mark.skipif(os.name == "nt", reason="Windows has no permission bits")
def test_the_token_is_the_owners_alone(path):
    corefile.write(path, ME)

    assert path.stat().st_mode & 0o777 == 0o600
