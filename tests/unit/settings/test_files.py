"""Private files that are never half written, and locks between processes."""

import os
import stat
import subprocess
import sys

import pytest

from homeai.settings.files import hold, is_held, locked, write_private

HOLDER = """
import sys
from pathlib import Path
from homeai.settings.files import hold
file = hold(Path(sys.argv[1]))
print("held" if file else "refused", flush=True)
sys.stdin.read()
"""
COUNTER = """
import sys
from pathlib import Path
from homeai.settings.files import locked, write_private
path = Path(sys.argv[1])
for _ in range(50):
    with locked(path):
        write_private(path, str(int(path.read_bytes()) + 1).encode())
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no permission bits")
def test_a_private_file_is_the_owners_alone_whatever_the_mask(tmp_path):
    old_mask = os.umask(0)
    try:
        write_private(tmp_path / "new" / "file", b"x")
    finally:
        os.umask(old_mask)

    assert stat.S_IMODE((tmp_path / "new" / "file").stat().st_mode) == 0o600


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path):
    target = tmp_path / "file"
    target.mkdir()  # a folder cannot be replaced by a file

    with pytest.raises(OSError, match="file"):
        write_private(target, b"x")

    assert list(tmp_path.iterdir()) == [target]


def test_a_linked_file_stays_linked(tmp_path):
    real, link = tmp_path / "real", tmp_path / "link"
    real.write_bytes(b"old")
    link.symlink_to(real)

    write_private(link, b"new")

    assert link.is_symlink()
    assert real.read_bytes() == b"new"


def test_writers_in_several_processes_wait_for_each_other(tmp_path):
    path = tmp_path / "count"
    write_private(path, b"0")

    writers = [subprocess.Popen([sys.executable, "-c", COUNTER, str(path)]) for _ in range(3)]

    assert [writer.wait(60) for writer in writers] == [0, 0, 0]
    assert path.read_bytes() == b"150"


def test_a_lock_is_refused_while_another_process_lives_and_free_when_it_ends(tmp_path):
    path = tmp_path / "lock"
    assert not is_held(path)
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as other:
        assert other.stdout.readline() == "held\n"
        assert hold(path) is None
        assert is_held(path)
        other.kill()

    assert not is_held(path)
    with hold(path) as file:
        assert file is not None


def test_asking_for_a_lock_does_not_make_the_file(tmp_path):
    assert not is_held(tmp_path / "lock")

    assert list(tmp_path.iterdir()) == []


def test_the_lock_of_a_file_is_let_go_after_a_failure(tmp_path):
    path = tmp_path / "file"
    with pytest.raises(RuntimeError), locked(path):
        raise RuntimeError

    with locked(path):
        assert is_held(tmp_path / ".file.lock")
