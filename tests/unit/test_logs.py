"""Logging: what leaves the process, and what does not."""

import io
import logging
import os
import stat
import sys

import pytest

from homeai import logs

logger = logging.getLogger("homeai.test")


@pytest.fixture
def set_up(tmp_path):
    level = logging.getLogger().level

    def start(*, verbose=False, folder=None):
        return logs.set_up(folder or tmp_path / "logs", "core", verbose=verbose)

    yield start
    logs.tear_down()
    logging.getLogger().setLevel(level)


def test_state_changes_go_to_the_file_and_warnings_to_standard_error_too(set_up, tmp_path, capsys):
    set_up()

    logger.debug("step")
    logger.info("worker ready")
    logger.warning("worker lost")

    written = (tmp_path / "logs" / "core.log").read_text("utf-8")
    shown = capsys.readouterr().err
    assert "INFO homeai.test worker ready" in written
    assert "worker lost" in written
    assert "step" not in written
    assert "worker ready" not in shown
    assert "worker lost" in shown


def test_verbose_shows_everything_on_standard_error(set_up, capsys):
    set_up(verbose=True)

    logger.debug("step")

    assert "step" in capsys.readouterr().err


def test_the_last_lines_are_kept_in_memory(set_up):
    ring = set_up()

    for number in range(logs.RING_LINES + 1):
        logger.info("line %d", number)

    kept = ring.lines()
    assert len(kept) == logs.RING_LINES
    assert kept[0].endswith("line 1")
    assert kept[-1].endswith(f"line {logs.RING_LINES}")


def test_keys_and_the_home_folder_are_blackened_everywhere(set_up, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("HOME", "/home/oma")
    monkeypatch.setenv("USERPROFILE", "/home/oma")
    ring = set_up()
    secret = "hai_" + "x" * 43

    try:
        int(f"/home/oma/x {secret}")
    except ValueError:
        logger.exception("refused Authorization: Bearer %s", "abcdef")

    written = (tmp_path / "logs" / "core.log").read_text("utf-8")
    for text in (written, capsys.readouterr().err, *ring.lines()):
        assert secret not in text
        assert "abcdef" not in text
        assert "/home/oma" not in text
        assert "Traceback" in text


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no permission bits")
def test_the_file_is_the_owners_alone_after_it_was_turned_over(set_up, tmp_path, monkeypatch):
    monkeypatch.setattr(logs, "FILE_BYTES", 200)
    old_mask = os.umask(0)
    try:
        set_up()
        for _ in range(20):
            logger.info("x" * 50)
    finally:
        os.umask(old_mask)

    files = list((tmp_path / "logs").iterdir())
    assert len(files) == 1 + logs.FILES
    assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}


def test_set_up_twice_writes_each_line_once(set_up, tmp_path):
    set_up()
    set_up()

    logger.info("once")

    assert (tmp_path / "logs" / "core.log").read_text().count("once") == 1


def test_a_folder_that_cannot_be_made_is_told_of_and_work_goes_on(set_up, tmp_path, capsys):
    (tmp_path / "file").write_text("")

    ring = set_up(folder=tmp_path / "file" / "logs")
    logger.warning("going on")

    shown = capsys.readouterr().err
    assert "log file cannot be written" in shown
    assert "going on" in shown
    assert ring.lines()[-1].endswith("going on")


def test_text_of_any_kind_can_be_logged(set_up, tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    set_up()

    logger.warning("%s", "Größe 🦙 \udc80")

    assert "Größe 🦙 \\udc80" in (tmp_path / "logs" / "core.log").read_text("utf-8")
