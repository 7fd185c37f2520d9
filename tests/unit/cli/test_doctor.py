"""`homeai doctor`, its checks and its bundle."""

import json
import socket
import sys
import zipfile

import pytest

from homeai.cli import examination, libraries
from homeai.cli.examination import examine
from homeai.settings.keys import KeyRing

NAMES = [
    "versions",
    "engine",
    "settings",
    "models",
    "memory",
    "disk",
    "service",
    "desktop",
    "gpu",
    "keyring",
    "folders",
]


@pytest.fixture(autouse=True)
def quick(request, monkeypatch):
    """Loading the real libraries takes seconds; one test does it."""
    if request.node.get_closest_marker("slow") is None:
        monkeypatch.setattr(libraries, "_try", lambda _code: (True, "1.0"))


@pytest.fixture
def check(paths):
    def one(name, **environment):
        findings = examine(paths, environment)
        return next(finding for finding in findings if finding.name == name)

    return one


@pytest.mark.slow
def test_all_checks_run_and_whatever_is_not_well_has_a_remedy(run):
    result = run("doctor", "--json")
    findings = json.loads(result.stdout)

    assert [f["name"] for f in findings] == NAMES
    assert {f["verdict"] for f in findings} <= {"ok", "warn", "fail"}
    assert [f["name"] for f in findings if f["verdict"] != "ok" and not f["remedy"]] == []
    assert findings[1]["verdict"] == "ok", findings[1]


def test_a_failed_check_is_status_one_and_told_in_words(run):
    result = run("doctor")

    assert result.exit_code == 1
    assert "fail models: no usable model\n     `homeai models add FILE`\n" in result.stdout


def test_all_well_is_status_zero(run, starter_model):
    assert run("models", "add", str(starter_model), "--link").exit_code == 0

    result = run("doctor")

    assert result.exit_code == 0, result.stdout


# ---- checks ------------------------------------------------------------------------------------------


def test_a_library_that_kills_its_process_is_a_finding(monkeypatch):
    monkeypatch.undo()
    monkeypatch.setattr(libraries, "_ENGINE", "import os; os.abort()")

    finding = libraries.engine()

    assert finding.verdict == "fail"
    assert "ended with status" in finding.text
    assert finding.remedy


def test_a_library_that_hangs_is_a_finding(monkeypatch):
    monkeypatch.undo()
    monkeypatch.setattr(libraries, "_LOAD_S", 0.2)
    monkeypatch.setattr(libraries, "_ENGINE", "import threading; threading.Event().wait()")

    assert "no answer within" in libraries.engine().text


def test_an_unusable_value_is_found_where_it_is(check, paths):
    paths.config.mkdir()
    paths.settings_file.write_text("[server]\nport = 'x'\n")

    finding = check("settings")

    assert finding.verdict == "fail"
    assert finding.remedy == "`homeai settings reset server.port`"


def test_an_unusable_variable_is_not_to_be_reset_in_the_file(check):
    finding = check("settings", HOMEAI_SERVER__PORT="x")

    assert finding.verdict == "fail"
    assert "HOMEAI_SERVER__PORT" in finding.remedy


def test_a_broken_settings_file_is_a_warning(check, paths):
    paths.config.mkdir()
    paths.settings_file.write_text("broken = [")

    assert check("settings").verdict == "warn"


def test_models_in_further_folders_count(check, tmp_path, starter_model):
    folder = tmp_path / "Modelle ü"
    folder.mkdir()
    (folder / "klein.gguf").symlink_to(starter_model)

    finding = check("models", HOMEAI_MODEL__FOLDERS=str(folder))

    assert (finding.verdict, finding.text) == ("ok", "klein")


def test_a_broken_model_beside_a_good_one_is_a_warning(check, paths, starter_model):
    paths.models.mkdir(parents=True)
    (paths.models / "gut.gguf").symlink_to(starter_model)
    (paths.models / "kaputt.gguf").write_bytes(b"GGUF")

    finding = check("models")

    assert finding.verdict == "warn"
    assert "kaputt" in finding.text


def test_a_chosen_model_that_is_missing_fails_without_its_folder(check, paths, starter_model):
    paths.models.mkdir(parents=True)
    (paths.models / "gut.gguf").symlink_to(starter_model)

    finding = check("models", HOMEAI_MODEL__ACTIVE="/geheim/weg.gguf")

    assert finding.verdict == "fail"
    assert "weg.gguf" in finding.text
    assert "geheim" not in finding.text


def test_little_memory_and_a_full_disk_are_warnings(check, monkeypatch):
    monkeypatch.setattr(examination.ram, "probe", lambda: examination.ram.Ram(8 * 2**30, 2**29))
    monkeypatch.setattr(examination, "_LEAST_DISK", 2**60)

    for name in ("memory", "disk"):
        finding = check(name)
        assert finding.verdict == "warn"
        assert finding.remedy


def test_a_port_that_another_program_has_is_a_warning(check):
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        finding = check("service", HOMEAI_SERVER__PORT=str(port))

    assert finding.verdict == "warn"
    assert f"port {port} is taken" in finding.text


def test_a_running_core_is_named(check, core):
    assert check("service").text == f"runs at {core.url}"


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no permission bits")
def test_a_folder_that_others_can_enter_is_a_warning(check, paths):
    paths.data.mkdir()
    paths.data.chmod(0o755)

    finding = check("folders")

    assert finding.verdict == "warn"
    assert "data" in finding.text
    assert finding.remedy == f"chmod 700 '{paths.data}'"


def test_qt_that_does_not_load_is_a_warning(check, monkeypatch):
    monkeypatch.setattr(libraries, "_try", lambda _code: (False, "libEGL.so.1: cannot open"))

    finding = check("desktop")

    assert finding.verdict == "warn"
    assert "libEGL.so.1" in finding.text


# ---- bundle ------------------------------------------------------------------------------------------


def test_the_bundle_holds_no_key_no_prompt_and_no_folder_of_the_user(
    run, paths, tmp_path, monkeypatch
):
    monkeypatch.setenv("HOME", str(tmp_path / "oma"))
    (tmp_path / "oma").mkdir()
    secret = KeyRing(paths.keys_file).create("Omas Tablet")
    hashed = KeyRing(paths.keys_file).list()[0].sha256
    paths.logs.mkdir()
    lines = f"opened {paths.data}/x and {tmp_path}/oma/y\nAuthorization: Bearer {secret}\n"
    (paths.logs / "core.log").write_text(lines)
    paths.config.mkdir(exist_ok=True)
    paths.settings_file.write_text("broken = [")
    target = tmp_path / "bericht ü.zip"

    result = run("doctor", "--bundle", str(target))

    assert "bericht ü.zip" in result.stderr
    with zipfile.ZipFile(target) as bundle:
        assert bundle.namelist() == ["doctor.json", "core.log"]
        texts = "".join(bundle.read(name).decode() for name in bundle.namelist())
    for hidden in (secret, hashed, "Omas Tablet", str(paths.data), str(tmp_path / "oma")):
        assert hidden not in texts
    assert "opened ~/x and ~/y" in texts


def test_a_bundle_that_cannot_be_written_is_one_line(run, tmp_path):
    result = run("doctor", "--bundle", str(tmp_path / "missing" / "x.zip"))

    assert result.exit_code == 1
    assert result.stderr.startswith("homeai: the bundle cannot be written: ")


def test_a_long_log_is_cut_to_its_end(run, paths, tmp_path):
    paths.logs.mkdir()
    (paths.logs / "core.log").write_text("alt\n" + "x" * 300_000 + "\nneu\n")

    run("doctor", "--bundle", str(tmp_path / "x.zip"))

    with zipfile.ZipFile(tmp_path / "x.zip") as bundle:
        text = bundle.read("core.log").decode()
    assert text.endswith("neu\n")
    assert "alt" not in text


def test_the_checks_change_nothing(run, homeai_home):
    run("doctor")

    assert list(homeai_home.iterdir()) == []
