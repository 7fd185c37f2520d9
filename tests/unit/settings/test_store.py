"""Layers, their sources, and changes to the file."""

import os
import subprocess
import sys
import tomllib

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from homeai.settings.schema import KEYS, SECTIONS, Settings
from homeai.settings.store import (
    SettingsError,
    UnknownSetting,
    check,
    load,
    reset_in_file,
    set_in_file,
    variable_of,
)


@pytest.fixture
def file(tmp_path):
    return tmp_path / "config" / "settings.toml"


def written(file, text, encoding="utf-8"):
    file.parent.mkdir(exist_ok=True)
    file.write_bytes(text.encode(encoding))
    return file


# ---- layers ------------------------------------------------------------------------------------------


def test_without_any_layer_all_values_are_defaults(file):
    layered = load(file, {})

    assert layered.settings == Settings()
    assert {layered.source(key) for key in KEYS} == {"default"}
    assert layered.problems == ()


def test_each_layer_wins_over_the_one_below_and_is_named_as_the_source(file):
    written(file, "[limits]\nconcurrency = 3\nqueue_total = 3\nqueue_per_client = 3\n")
    environment = {"HOMEAI_LIMITS__QUEUE_TOTAL": "4", "HOMEAI_LIMITS__QUEUE_PER_CLIENT": "4"}

    layered = load(file, environment, ["limits.queue_per_client=5"])

    limits = layered.settings.limits
    assert (limits.concurrency, limits.queue_total, limits.queue_per_client) == (3, 4, 5)
    assert [
        layered.source(f"limits.{name}")
        for name in ("deadline_s", "concurrency", "queue_total", "queue_per_client")
    ] == ["default", "file", "environment", "flag"]


def test_a_byte_order_mark_and_windows_line_ends_are_fine(file):
    written(file, "\ufeff[server]\r\nport = 99\r\n")

    assert load(file, {}).settings.server.port == 99


def test_unknown_tables_and_keys_of_the_file_are_left_alone(file):
    layered = load(written(file, "[server]\nfuture = 1\n[plugin]\nx = 1\n"), {})

    assert layered.settings == Settings()
    assert layered.problems == ()


def test_a_section_that_is_no_table_is_told_of(file):
    layered = load(written(file, "server = 5\n"), {})

    assert layered.settings == Settings()
    assert "server is not a table" in layered.problems[0]


def test_a_variable_that_names_no_setting_is_told_of_with_the_nearest_one(file):
    layered = load(file, {"HOMEAI_LIMITS__CONTEXT_TOKEN": "5"})

    (problem,) = layered.problems
    assert "HOMEAI_LIMITS__CONTEXT_TOKEN names no setting" in problem
    assert "HOMEAI_LIMITS__CONTEXT_TOKENS" in problem


def test_variables_without_two_underscores_are_no_settings(file):
    layered = load(file, {"HOMEAI_HOME": "x", "HOMEAI_TEST_MODEL": "y", "OTHER__X": "z"})

    assert (layered.settings, layered.problems) == (Settings(), ())


@pytest.mark.parametrize("key", KEYS)
def test_every_setting_can_be_given_by_its_variable(file, key):
    section, name = key.split(".")
    default = getattr(getattr(Settings(), section), name)
    text = ",".join(default) if isinstance(default, tuple) else str(default)

    layered = load(file, {variable_of(key): text})

    assert layered.settings == Settings()
    assert layered.source(key) == "environment"


# ---- refusals ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("key", "given", "allowed"),
    [
        ("server.port", "65536", "from 0 to 65535"),
        ("server.port", "-1", "from 0 to 65535"),
        ("server.port", "http", "a whole number"),
        ("server.host", "foo bar", "an IP address such as 192.168.1.20 or a host name"),
        ("server.lan", "vielleicht", "yes or no"),
        ("limits.concurrency", "0", "from 1 to 64"),
        ("limits.queue_wait_s", "nan", "more than 0"),
        ("limits.queue_wait_s", "inf", "more than 0"),
        ("limits.queue_wait_s", "0", "more than 0 to 86400 s"),
        ("memory.ram_reserve_min_mib", "8X", "MiB (8G is understood)"),
        ("memory.kv_type", "f8", "f16, q8_0"),
        ("gpu.layers", "all", "auto or a whole number"),
        ("gpu.layers", "-1", "auto or a whole number"),
        ("model.active", "a\0b", "without control characters"),
        ("model.active", "a\udc80b", ""),
        ("model.folders", ["a\nb"], "without control characters"),
        ("model.folders", [1], "list of texts"),
    ],
)
def test_a_refusal_names_the_setting_what_was_given_and_what_is_allowed(key, given, allowed):
    with pytest.raises(SettingsError) as refused:
        check(key, given)

    error = refused.value
    assert (error.key, error.given) == (key, given)
    assert allowed in error.allowed
    assert str(error).startswith(f"{key}: ")
    assert repr(given) in str(error)
    assert error.allowed in str(error)


@pytest.mark.parametrize(
    "key", ["limits.concurrency", "gpu.layers", "limits.queue_wait_s", "server.max_body_mib"]
)
def test_a_switch_is_no_number(key):
    with pytest.raises(SettingsError):
        check(key, value=True)


def test_a_very_long_value_is_shortened_in_the_message():
    with pytest.raises(SettingsError) as refused:
        check("limits.concurrency", "9" * 100_000)

    assert len(str(refused.value)) < 500


def test_an_unknown_setting_answers_with_the_nearest_name():
    with pytest.raises(
        UnknownSetting, match=r"'limits.contxt_tokens'; did you mean limits.context_tokens"
    ):
        check("limits.contxt_tokens", "1")


@pytest.mark.parametrize(
    ("layer", "source"),
    [
        ({"file": "[server]\nport = 'x'\n"}, "file"),
        ({"environment": {"HOMEAI_SERVER__PORT": "x"}}, "environment"),
        ({"flags": ["server.port=x"]}, "flag"),
    ],
)
def test_a_refusal_says_which_layer_the_value_came_from(file, layer, source):
    if "file" in layer:
        written(file, layer["file"])

    with pytest.raises(SettingsError, match=f"from the {source}") as refused:
        load(file, layer.get("environment", {}), layer.get("flags", ()))

    assert refused.value.source == source


def test_a_flag_without_an_equals_sign_is_refused(file):
    with pytest.raises(SettingsError, match=r"section\.key=value"):
        load(file, {}, ["server.port"])


def test_a_flag_for_an_unknown_setting_is_refused(file):
    with pytest.raises(UnknownSetting):
        load(file, {}, ["server.prt=1"])


# ---- a broken file -----------------------------------------------------------------------------------

BROKEN = {
    "syntax": b"broken = [",
    "Latin-1": "[model]\nactive = 'Gr\u00f6\u00dfe'\n".encode("latin-1"),
    "UTF-16": "[server]\nport = 1\n".encode("utf-16"),
    "NUL bytes": b"\0" * 100,
    "endless nesting": b"x = " + b"[" * 100_000,
    "a number of ten thousand digits": b"x = " + b"9" * 10_000,
}


@pytest.mark.parametrize("content", BROKEN.values(), ids=BROKEN.keys())
def test_a_broken_file_is_kept_aside_and_told_of(file, content):
    file.parent.mkdir()
    file.write_bytes(content)

    layered = load(file, {})

    assert layered.settings == Settings()
    assert "settings.toml.broken-1" in layered.problems[0]
    assert not file.exists()
    assert file.with_name("settings.toml.broken-1").read_bytes() == content


def test_the_next_broken_file_does_not_replace_the_first(file):
    for number in (1, 2):
        written(file, f"broken {number}")
        load(file, {})

    kept = sorted(p.name for p in file.parent.glob("*.broken-*"))
    assert kept == ["settings.toml.broken-1", "settings.toml.broken-2"]


def test_setting_a_value_in_a_broken_file_keeps_it_aside_and_tells(file):
    written(file, "broken = [")

    problems = set_in_file(file, "server.port", "99")

    assert "settings.toml.broken-1" in problems[0]
    assert load(file, {}).settings.server.port == 99
    assert file.with_name("settings.toml.broken-1").read_text() == "broken = ["


def test_a_file_that_cannot_be_read_is_told_of_and_stays(file):
    file.mkdir(parents=True)

    layered = load(file, {})

    assert layered.settings == Settings()
    assert "could not be read" in layered.problems[0]
    assert file.is_dir()


# ---- changes -----------------------------------------------------------------------------------------

COMMENTED = """\
# mine
[plugin] # of another program
x = 1

[limits]
concurrency = 3 # three children
future = "kept"
"""


def test_comments_and_unknown_keys_survive_a_change(file):
    written(file, COMMENTED)

    set_in_file(file, "limits.concurrency", "4")
    set_in_file(file, "server.port", "99")

    text = file.read_text()
    assert text.startswith(COMMENTED.replace("= 3", "= 4"))
    assert load(file, {}).settings.server.port == 99


def test_a_reset_removes_the_value_and_nothing_else(file):
    written(file, COMMENTED)

    reset_in_file(file, "limits.concurrency")

    assert file.read_text() == COMMENTED.replace("concurrency = 3 # three children\n", "")
    assert load(file, {}).source("limits.concurrency") == "default"


def test_a_reset_of_a_default_writes_nothing(file):
    reset_in_file(file, "server.port")

    assert not file.exists()


@pytest.mark.parametrize(
    ("key", "value"), [("server.port", "x"), ("server.host", "foo bar"), ("server.prt", "1")]
)
def test_a_refused_change_leaves_the_file_as_it_was(file, key, value):
    written(file, COMMENTED)

    with pytest.raises(SettingsError):
        set_in_file(file, key, value)

    assert file.read_text() == COMMENTED


def test_a_value_in_the_place_of_a_section_is_not_overwritten(file):
    written(file, "server = 5\n")

    with pytest.raises(SettingsError, match=r"table \[server\]"):
        set_in_file(file, "server.port", "99")

    assert file.read_text() == "server = 5\n"


@pytest.mark.parametrize(
    "layout",
    [
        "server.port = 1\n",
        "server = {port = 1, lan = false}\n",
        "[server]\nport = 1\n[limits]\n[server.x]\ny = 1\n",
        "[server.x]\ny = 1\n[server]\nport = 1\n",
        "\ufeff[server]\r\nport = 1\r\nlan = false\r\n",
    ],
    ids=["dotted", "inline", "out of order", "below its child", "Windows"],
)
def test_a_value_can_be_changed_in_any_layout_of_the_table(file, layout):
    written(file, layout)

    set_in_file(file, "server.port", "99")

    before, after = (
        tomllib.loads(layout.lstrip("\ufeff")),
        tomllib.loads(file.read_bytes().decode()),
    )
    before["server"]["port"] = 99
    assert after == before


SETTER = """
import sys
from pathlib import Path
from homeai.settings.store import set_in_file
for value in range(1, 21):
    set_in_file(Path(sys.argv[1]), sys.argv[2], value)
"""


def test_changes_by_several_processes_are_all_kept(file):
    keys = ["limits.queue_total", "limits.concurrency", "server.max_body_mib"]
    setters = [subprocess.Popen([sys.executable, "-c", SETTER, str(file), key]) for key in keys]

    assert [setter.wait(60) for setter in setters] == [0, 0, 0]

    layered = load(file, {})
    assert [layered.source(key) for key in keys] == ["file"] * 3
    assert layered.settings.limits.queue_total == 20


@pytest.mark.skipif(os.name == "nt", reason="Windows has no permission bits")
def test_the_file_is_the_owners_alone(file):
    set_in_file(file, "server.port", "99")

    assert file.stat().st_mode & 0o777 == 0o600
    assert file.parent.stat().st_mode & 0o777 == 0o700


# ---- properties --------------------------------------------------------------------------------------

texts = st.text(st.characters(exclude_categories=["Cc", "Cs"]), max_size=40)


def values_of(key):
    """Every value that the schema of `key` allows."""
    section, name = key.split(".")
    schema = SECTIONS[section].model_json_schema()["properties"][name]
    if key == "server.host":
        return st.ip_addresses().map(str) | st.sampled_from(["localhost", "müller-pc.local"])
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    if "anyOf" in schema:
        return st.just("auto") | st.integers(0, 10_000)
    match schema["type"]:
        case "boolean":
            return st.booleans()
        case "integer":
            return st.integers(schema["minimum"], schema["maximum"])
        case "number":
            low = schema.get("minimum", schema.get("exclusiveMinimum"))
            return st.floats(low, schema["maximum"], exclude_min="exclusiveMinimum" in schema)
        case "array":
            return st.lists(texts, max_size=4).map(tuple)
        case "string":
            return texts


changes = st.lists(
    st.sampled_from(KEYS).flatmap(lambda key: st.tuples(st.just(key), values_of(key))), max_size=6
)


@given(changes)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_what_is_set_is_what_is_read(file, made):
    file.unlink(missing_ok=True)
    for key, value in made:
        set_in_file(file, key, value)

    layered = load(file, {})

    for key, value in dict(made).items():
        section, name = key.split(".")
        assert getattr(getattr(layered.settings, section), name) == value
        assert layered.source(key) == "file"


@given(
    st.sampled_from(KEYS), st.text() | st.integers() | st.floats() | st.lists(st.text()) | st.none()
)
def test_any_value_is_taken_or_refused_with_a_sentence(key, value):
    try:
        taken = check(key, value)
    except SettingsError as error:
        refusal = error
    else:
        assert check(key, taken) == taken
        return
    assert refusal.allowed


@given(st.binary(max_size=300))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_bytes_in_the_file_are_lost_or_a_crash(file, content):
    file.parent.mkdir(exist_ok=True)
    for old in file.parent.glob("*.broken-*"):
        old.unlink()
    file.write_bytes(content)

    try:
        layered = load(file, {})
    except SettingsError:  # readable, but with a value that is not allowed
        assert file.read_bytes() == content
    else:
        kept = file if file.exists() else file.with_name("settings.toml.broken-1")
        assert kept.read_bytes() == content
        assert file.exists() or layered.problems
