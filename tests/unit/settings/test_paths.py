"""Where files live."""

import os
import stat
import sys
import warnings

import pytest

from homeai.settings.paths import Paths, private_folder

posix = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no permission bits")


def test_homeai_home_moves_every_file_under_it(tmp_path):
    paths = Paths.from_environment({"HOMEAI_HOME": str(tmp_path), "XDG_RUNTIME_DIR": "/run/user/1"})

    folders = (paths.config, paths.data, paths.cache, paths.logs, paths.runtime, paths.models)
    files = (paths.settings_file, paths.keys_file, paths.core_file)
    assert all(place.is_relative_to(tmp_path) for place in (*folders, *files))


def test_a_relative_homeai_home_does_not_move_with_the_working_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    paths = Paths.from_environment({"HOMEAI_HOME": "hier"})

    monkeypatch.chdir("/")

    assert paths.config == tmp_path / "hier" / "config"


def test_an_empty_homeai_home_is_none():
    assert Paths.from_environment({"HOMEAI_HOME": ""}) == Paths.from_environment({})


@pytest.mark.skipif(sys.platform != "linux", reason="XDG folders are Linux's")
class TestRuntimeFolder:
    """The token of the core lies there."""

    def test_the_sessions_own_folder_is_used(self, tmp_path):
        tmp_path.chmod(0o700)

        paths = Paths.from_environment({"XDG_RUNTIME_DIR": str(tmp_path)})

        assert paths.runtime == tmp_path / "homeai"

    def test_a_folder_that_others_can_enter_is_not_trusted(self, tmp_path):
        tmp_path.chmod(0o755)

        paths = Paths.from_environment({"XDG_RUNTIME_DIR": str(tmp_path)})

        assert not paths.runtime.is_relative_to(tmp_path)

    def test_a_link_is_not_trusted(self, tmp_path):
        target = tmp_path / "target"
        target.mkdir(mode=0o700)
        link = tmp_path / "link"
        link.symlink_to(target)

        paths = Paths.from_environment({"XDG_RUNTIME_DIR": str(link)})

        assert paths.runtime.name == "run"

    def test_without_one_the_users_own_state_folder_serves_silently(self):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            paths = Paths.from_environment({})

        assert caught == []
        assert paths.runtime.is_relative_to(os.path.expanduser("~"))


@posix
def test_a_private_folder_and_its_missing_parents_are_the_owners_alone(tmp_path):
    old_mask = os.umask(0)
    try:
        folder = private_folder(tmp_path / "a" / "b")
    finally:
        os.umask(old_mask)

    assert [stat.S_IMODE(p.stat().st_mode) for p in (folder, folder.parent)] == [0o700, 0o700]


@posix
def test_a_folder_that_is_there_keeps_its_mode(tmp_path):
    tmp_path.chmod(0o750)

    private_folder(tmp_path)

    assert stat.S_IMODE(tmp_path.stat().st_mode) == 0o750
