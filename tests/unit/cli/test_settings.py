"""`homeai settings`."""

import json

import pytest

from homeai.settings.schema import KEYS


def test_the_list_shows_every_setting_and_where_its_value_comes_from(run, monkeypatch):
    run("settings", "set", "server.port", "99")
    monkeypatch.setenv("HOMEAI_UI__THEME", "dark")

    lines = run("settings", "list").stdout.splitlines()

    assert [line.split()[0] for line in lines] == list(KEYS)
    assert "server.port                  99  (file)" in lines
    assert [line for line in lines if line.endswith("dark  (environment)")]
    assert [line for line in lines if line.startswith("server.lan") and line.endswith(" false")]


def test_the_list_for_machines_has_typed_values(run):
    entries = json.loads(run("settings", "list", "--json").stdout)

    assert entries["server.port"] == {"value": 8484, "source": "default"}
    assert entries["server.lan"]["value"] is False
    assert entries["model.folders"]["value"] == []


@pytest.mark.parametrize(
    ("key", "given", "shown", "typed"),
    [
        ("server.lan", "on", "true", True),
        ("memory.ram_reserve_min_mib", "8G", "8192", 8192),
        ("limits.queue_wait_s", "1.5", "1.5", 1.5),
        ("model.folders", "/a,/b ü", "/a,/b ü", ["/a", "/b ü"]),
        ("gpu.layers", "AUTO", "auto", "auto"),
        ("gpu.layers", "12", "12", 12),
        ("model.active", "", "", ""),
    ],
)
def test_what_is_set_is_what_is_got(run, key, given, shown, typed):
    changed = run("settings", "set", key, given)

    assert (changed.exit_code, changed.stdout) == (0, f"{key} = {shown}\n")
    assert run("settings", "get", key).stdout == f"{shown}\n"
    assert json.loads(run("settings", "get", key, "--json").stdout) == typed


def test_a_reset_goes_back_to_the_default(run):
    run("settings", "set", "server.port", "99")

    assert run("settings", "reset", "server.port").stdout == "server.port = 8484\n"
    assert run("settings", "get", "server.port").stdout == "8484\n"


@pytest.mark.parametrize("words", [("get",), ("set", "1"), ("reset",)], ids=lambda words: words[0])
def test_an_unknown_name_is_wrong_usage_and_answers_with_the_nearest(run, words):
    command, *rest = words

    result = run("settings", command, "server.prt", *rest)

    assert result.exit_code == 2
    assert result.stderr == "homeai: there is no setting 'server.prt'; did you mean server.port?\n"


@pytest.mark.parametrize(("key", "value"), [("server.port", "x"), ("server.host", "foo bar")])
def test_a_refused_value_is_wrong_usage_and_changes_nothing(run, key, value):
    before = run("settings", "list").stdout

    result = run("settings", "set", key, value)

    assert result.exit_code == 2
    assert result.stderr.startswith(f"homeai: {key}: '{value}' cannot be used; allowed is ")
    assert run("settings", "list").stdout == before


def test_a_change_that_a_variable_overrides_says_so(run, monkeypatch):
    monkeypatch.setenv("HOMEAI_SERVER__PORT", "7")

    changed = run("settings", "set", "server.port", "99")

    assert changed.exit_code == 0
    assert "environment is in force instead" in changed.stderr


def test_an_unusable_value_in_the_file_can_be_reset(run, paths):
    paths.config.mkdir()
    paths.settings_file.write_text("[server]\nport = 'x'\n[limits]\nconcurrency = 'y'\n")
    assert run("settings", "list").exit_code == 2

    first = run("settings", "reset", "server.port")
    second = run("settings", "set", "limits.concurrency", "3")

    assert (first.exit_code, first.stdout) == (0, "server.port = 8484\n")
    assert "limits.concurrency (from the file)" in first.stderr
    assert (second.exit_code, second.stderr) == (0, "")
    assert run("settings", "get", "limits.concurrency").stdout == "3\n"


@pytest.mark.parametrize(
    "words",
    [("list",), ("set", "server.port", "9"), ("reset", "server.port")],
    ids=lambda words: words[0],
)
def test_a_broken_file_is_told_of_whichever_command_finds_it(run, paths, words):
    paths.config.mkdir()
    paths.settings_file.write_text("broken = [")

    result = run("settings", *words)

    assert result.exit_code == 0
    assert "note: settings.toml could not be read" in result.stderr
    assert (paths.config / "settings.toml.broken-1").read_text() == "broken = ["


def test_a_file_that_cannot_be_written_is_told_of(run, paths):
    paths.settings_file.mkdir(parents=True)

    result = run("settings", "set", "server.port", "9")

    assert result.exit_code == 1
    assert result.stderr.startswith("homeai: the settings file cannot be written: ")


def test_the_path_is_that_of_the_file(run, paths):
    assert run("settings", "path").stdout == f"{paths.settings_file}\n"


def test_the_document_command_is_hidden(run):
    assert "document" not in run("settings", "--help").stdout
    assert run("settings", "document").stdout.startswith("# Settings\n")
