"""Opening the journal: a broken file is set aside, one out of reach is left as it is."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from homeai.journal.opening import connect, make_ready
from homeai.journal.problems import JournalError

AT = 1_800_000_000.0


def test_two_broken_files_of_one_second_are_both_kept_with_their_logs(tmp_path):
    path = tmp_path / "journal.db"
    for content in (b"first" * 300, b"second" * 300):
        for tail in ("-wal", "-shm"):
            path.with_name(path.name + tail).unlink(missing_ok=True)
        path.write_bytes(content)
        path.with_name("journal.db-wal").write_bytes(b"log of " + content[:6])
        make_ready(path, AT)

    name = f"journal.db.broken-{int(AT)}"
    assert (tmp_path / name).read_bytes() == b"first" * 300
    assert (tmp_path / f"{name}-1").read_bytes() == b"second" * 300
    assert (tmp_path / f"{name}-wal").read_bytes().startswith(b"log of first")
    assert (tmp_path / f"{name}-1-wal").read_bytes().startswith(b"log of second")


def test_a_locked_database_is_left_alone(tmp_path):
    path = tmp_path / "journal.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("CREATE TABLE mine (a)")
        other.execute("BEGIN EXCLUSIVE")

        with pytest.raises(JournalError, match="another program holds a lock"):
            make_ready(path, AT, busy_s=0.0)

        other.execute("ROLLBACK")
        assert other.execute("SELECT count(*) FROM mine").fetchone() == (0,)
    assert not list(tmp_path.glob("*.broken-*"))


def test_a_folder_in_its_place_is_told(tmp_path):
    path = tmp_path / "journal.db"
    path.mkdir()

    with pytest.raises(JournalError, match="cannot be opened"):
        make_ready(path, AT)

    assert path.is_dir()


def test_a_file_in_the_place_of_its_folder_is_told(tmp_path):
    (tmp_path / "data").write_text("a file")

    with pytest.raises(JournalError, match="cannot be opened"):
        make_ready(tmp_path / "data" / "journal.db", AT)


def test_a_full_disk_is_no_damage(tmp_path, monkeypatch):
    def full(path: Path, busy_s: float) -> sqlite3.Connection:
        made = connect(path, busy_s)
        made.execute("PRAGMA max_page_count = 2")
        return made

    monkeypatch.setattr("homeai.journal.opening.connect", full)

    with pytest.raises(JournalError, match="disk is full"):
        make_ready(tmp_path / "journal.db", AT)

    assert not list(tmp_path.glob("*.broken-*"))
