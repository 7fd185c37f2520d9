"""Which models there are, by names that never show a folder."""

import pytest

from homeai.models.catalogue import Catalogue, public_name
from homeai.models.integrity import HashCancelled, sha256
from homeai.models.problems import ModelFileError
from tests.fakes.gguf import tiny


@pytest.fixture
def folder(tmp_path):
    models = tmp_path / "models"
    models.mkdir()
    return models


def test_names_with_spaces_umlauts_and_emoji_work(folder):
    tiny(folder / "Mein Modell ä 😀.gguf")

    (entry,) = Catalogue(folder).entries()

    assert entry.name == "Mein Modell ä 😀"
    assert Catalogue(folder).find(entry.name) == entry


def test_control_characters_never_reach_a_name(folder):
    assert public_name(folder / "a\nb\x1b.gguf") == "a_b_"


def test_two_files_of_one_name_get_different_ids(folder, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    tiny(folder / "m.gguf")
    tiny(other / "m.gguf")

    names = [e.name for e in Catalogue(folder, [other]).entries()]

    assert len(set(names)) == 2
    assert all(str(tmp_path) not in name for name in names)


def test_a_broken_file_is_listed_with_its_problem(folder):
    (folder / "bad.gguf").write_bytes(b"<html>")
    tiny(folder / "good.gguf")

    bad, good = Catalogue(folder).entries()

    assert bad.problem.code == "not_gguf"
    assert good.problem is None
    assert Catalogue(folder).choose("").name == "good"


def test_missing_folders_and_later_parts_are_no_models(folder, tmp_path):
    tiny(folder / "m-00002-of-00002.gguf")

    assert Catalogue(folder, [tmp_path / "gone"]).entries() == []


def test_an_added_file_is_copied_and_its_hash_kept(folder, tmp_path):
    source = tiny(tmp_path / "new.gguf")
    catalogue = Catalogue(folder)

    entry = catalogue.add(source)

    assert entry.path.parent == folder
    assert catalogue.recorded_hash(entry) == sha256(source)
    with pytest.raises(ModelFileError, match="already"):
        catalogue.add(source)


def test_what_is_no_model_is_not_added(folder, tmp_path):
    bad = tmp_path / "bad.gguf"
    bad.write_bytes(b"PK\x03\x04")

    with pytest.raises(ModelFileError):
        Catalogue(folder).add(bad)
    assert list(folder.iterdir()) == []


def test_only_own_files_are_removed(folder, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    foreign = tiny(other / "theirs.gguf")
    tiny(folder / "ours.gguf")
    catalogue = Catalogue(folder, [other])

    catalogue.remove(catalogue.find("ours"))
    with pytest.raises(ModelFileError, match="stays"):
        catalogue.remove(catalogue.find("theirs"))

    assert foreign.exists()
    assert [e.name for e in catalogue.entries()] == ["theirs"]


def test_hashing_can_be_stopped(tmp_path):
    with pytest.raises(HashCancelled):
        sha256(tiny(tmp_path / "a.gguf"), lambda _fraction: False)
