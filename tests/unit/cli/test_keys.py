"""`homeai keys`."""

import json

import pytest

from homeai.settings.keys import KeyRing


def test_the_secret_is_all_of_standard_output_so_that_scripts_can_take_it(run, paths):
    result = run("keys", "create", "Omas Tablet ü")

    secret = result.stdout.removesuffix("\n")
    assert result.exit_code == 0
    assert KeyRing(paths.keys_file).match(secret.encode()) == "Omas Tablet ü"
    assert "shown once" in result.stderr


def test_the_list_never_shows_a_secret_or_a_hash(run, paths):
    secret = run("keys", "create", "Tablet").stdout.strip()
    hashed = KeyRing(paths.keys_file).list()[0].sha256

    shown = run("keys", "list").stdout + run("keys", "list", "--json").stdout

    assert "Tablet" in shown
    assert secret not in shown
    assert hashed not in shown


def test_the_list_for_machines(run):
    run("keys", "create", "a")

    (entry,) = json.loads(run("keys", "list", "--json").stdout)

    assert entry.keys() == {"name", "created"}


def test_an_empty_list_says_how_to_make_a_key(run):
    result = run("keys", "list")

    assert (result.exit_code, result.stdout) == (0, "")
    assert "homeai keys create NAME" in result.stderr


def test_a_revoked_key_is_gone(run):
    run("keys", "create", "a")

    assert run("keys", "revoke", "a").exit_code == 0
    assert run("keys", "list", "--json").stdout == "[]\n"


def test_revoking_what_is_not_there_fails_and_says_so(run):
    result = run("keys", "revoke", "nobody")

    assert result.exit_code == 1
    assert result.stderr.startswith("homeai: there is no key named 'nobody'")


@pytest.mark.parametrize("name", ["local", "a/b", ""], ids=["reserved", "malformed", "empty"])
def test_a_name_that_cannot_be_used_is_wrong_usage(run, name):
    result = run("keys", "create", name)

    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.count("\n") == 1


def test_a_name_that_is_taken_is_refused(run):
    run("keys", "create", "a")

    assert run("keys", "create", "a").exit_code == 2


@pytest.mark.parametrize("words", [("list",), ("create", "a"), ("revoke", "a")], ids=lambda w: w[0])
def test_a_broken_file_is_one_line_and_stays(run, paths, words):
    paths.data.mkdir()
    paths.keys_file.write_text("{")

    result = run("keys", *words)

    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr == "homeai: the key file cannot be read; no key is accepted\n"
    assert paths.keys_file.read_text() == "{"


def test_a_folder_that_cannot_be_written_is_told_of(run, paths):
    paths.data.write_text("")

    result = run("keys", "create", "a")

    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.count("\n") == 1
