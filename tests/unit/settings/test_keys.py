"""API keys: shown once, kept hashed, matched as bytes."""

import hashlib
import json
import os
import subprocess
import sys
import unicodedata

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from homeai.settings.keys import KeyFileError, KeyNameError, KeyRing


@pytest.fixture
def file(tmp_path):
    return tmp_path / "data" / "keys.json"


@pytest.fixture
def ring(file):
    return KeyRing(file)


def test_a_new_key_matches_and_only_its_hash_is_kept(ring, file):
    secret = ring.create("Küche")

    assert ring.match(secret.encode()) == "Küche"
    (entry,) = json.loads(file.read_bytes())
    assert entry.keys() == {"name", "sha256", "created"}
    assert entry["sha256"] == hashlib.sha256(secret.encode()).hexdigest()
    assert secret not in file.read_text("utf-8")


def test_a_secret_has_the_prefix_and_256_random_bits(ring):
    first, second = ring.create("a"), ring.create("b")

    assert first.startswith("hai_")
    assert len(first) == len("hai_") + 43
    assert first != second


def test_each_key_matches_under_its_own_name(ring):
    secrets = {name: ring.create(name) for name in ("a", "b", "c")}

    assert {name: ring.match(secret.encode()) for name, secret in secrets.items()} == {
        name: name for name in secrets
    }
    assert [key.name for key in ring.list()] == ["a", "b", "c"]


def test_a_revoked_key_stops_matching_and_the_others_go_on(ring):
    gone, kept = ring.create("gone"), ring.create("kept")

    assert ring.revoke("gone")

    assert ring.match(gone.encode()) is None
    assert ring.match(kept.encode()) == "kept"
    assert not ring.revoke("gone")


def test_a_change_by_another_program_counts_at_once(ring, file):
    secret = ring.create("Tablet")
    assert ring.match(secret.encode()) == "Tablet"

    KeyRing(file).revoke("Tablet")
    assert ring.match(secret.encode()) is None

    other = KeyRing(file).create("Telefon")
    assert ring.match(other.encode()) == "Telefon"

    file.unlink()
    assert ring.match(other.encode()) is None


@pytest.mark.parametrize(
    "name",
    ["", " ", "a" * 65, "a/b", "a\nb", "-x", ".x", "_x", "a\0", "a;b", "🙂", "a\udc80"],
)
def test_a_malformed_name_is_refused(ring, name):
    with pytest.raises(KeyNameError, match="allowed are"):
        ring.create(name)


def test_space_around_a_name_is_no_part_of_it(ring):
    ring.create(" a\n")

    assert [key.name for key in ring.list()] == ["a"]


@pytest.mark.parametrize("name", ["a", "a" * 64, "Omas Tablet", "müller-pc.local_2", "東京", "7"])
def test_ordinary_names_are_accepted(ring, name):
    assert ring.match(ring.create(name).encode()) == name


@pytest.mark.parametrize("name", ["desktop", "Desktop", "local", "local-x", "LOCALhost"])
def test_names_that_homeai_uses_itself_are_refused(ring, name):
    with pytest.raises(KeyNameError, match="uses itself"):
        ring.create(name)


def test_a_name_is_given_once_however_its_umlaut_is_typed(ring):
    ring.create(unicodedata.normalize("NFC", "Küche"))

    with pytest.raises(KeyNameError, match="already"):
        ring.create(unicodedata.normalize("NFD", "Küche"))
    assert ring.revoke(unicodedata.normalize("NFD", " Küche "))


@given(st.binary(max_size=200))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_garbage_matches_nothing_and_raises_nothing(ring, presented):
    if not ring.list():
        ring.create("a")

    assert ring.match(presented) is None


@pytest.mark.parametrize(
    "near",
    [lambda s: s[:-1], lambda s: s + "x", str.upper, lambda s: s[4:]],
    ids=["cut off", "longer", "upper case", "without its prefix"],
)
def test_what_is_almost_the_secret_does_not_match(ring, near):
    secret = ring.create("a")

    assert ring.match(near(secret).encode()) is None


DIGEST = "0" * 64
BROKEN = {
    "no JSON": "{",
    "empty": "",
    "an object": "{}",
    "a number": "5",
    "text entries": '["a"]',
    "no name": f'[{{"sha256": "{DIGEST}", "created": ""}}]',
    "a number as hash": '[{"name": "a", "sha256": 5, "created": ""}]',
    "a short hash": '[{"name": "a", "sha256": "0", "created": ""}]',
    "a surrogate": '[{"name": "a", "sha256": "\\ud800", "created": ""}]',
    "nesting": "[" * 100_000,
}


@pytest.mark.parametrize("content", BROKEN.values(), ids=BROKEN.keys())
def test_a_broken_file_lets_nobody_in_and_is_left_as_it_is(ring, file, content):
    secret = ring.create("a")
    assert ring.match(secret.encode()) == "a"
    file.write_text(content)

    for attempt in (lambda: ring.match(secret.encode()), ring.list, lambda: ring.create("b")):
        with pytest.raises(KeyFileError, match="no key is accepted"):
            attempt()

    assert file.read_text() == content


def test_a_file_that_cannot_be_read_lets_nobody_in(ring, file):
    file.mkdir(parents=True)

    with pytest.raises(KeyFileError, match="no key is accepted"):
        ring.match(b"x")


def test_a_folder_that_is_a_file_lets_nobody_in(tmp_path):
    (tmp_path / "data").write_text("")

    with pytest.raises(KeyFileError):
        KeyRing(tmp_path / "data" / "keys.json").match(b"x")


CREATOR = """
import sys
from pathlib import Path
from homeai.settings.keys import KeyRing
for number in range(10):
    KeyRing(Path(sys.argv[1])).create(f"{sys.argv[2]} {number}")
"""


def test_keys_made_by_several_processes_are_all_kept(ring, file):
    makers = [
        subprocess.Popen([sys.executable, "-c", CREATOR, str(file), name])
        for name in ("a", "b", "c")
    ]

    assert [maker.wait(60) for maker in makers] == [0, 0, 0]
    assert len({key.name for key in ring.list()}) == 30


@pytest.mark.skipif(os.name == "nt", reason="Windows has no permission bits")
def test_the_file_is_the_owners_alone(ring, file):
    ring.create("a")

    assert file.stat().st_mode & 0o777 == 0o600
