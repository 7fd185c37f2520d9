"""The group of all commands: light, lazy, one line for every error."""

import subprocess
import sys

import pytest

from homeai import __version__

COMMANDS = ["chat", "doctor", "keys", "models", "serve", "settings", "status"]
HEAVY = {
    "pydantic",
    "psutil",
    "platformdirs",
    "tomlkit",
    "starlette",
    "uvicorn",
    "PySide6",
    "llama_cpp",
    "numpy",
}


def modules_after(code):
    script = f"import sys\n{code}\nprint(*{{name.partition('.')[0] for name in sys.modules}})"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    return set(done.stdout.splitlines()[-1].split())


def test_the_group_imports_click_and_nothing_heavy():
    loaded = modules_after("import homeai.cli.main")

    assert "click" in loaded
    assert loaded & HEAVY == set()


def test_the_help_imports_no_command():
    loaded = modules_after(
        "import homeai.cli.main as m\nm.cli(['--help'], standalone_mode=False)\nprint()"
    )

    assert loaded & HEAVY == set()


def test_the_core_imports_neither_qt_nor_engine_nor_arrays():
    loaded = modules_after("import homeai.cli.serve, homeai.service.run")

    assert loaded & {"PySide6", "llama_cpp", "numpy"} == set()


def test_the_help_lists_every_command_with_a_text(run):
    result = run("--help")

    assert result.exit_code == 0
    for name in COMMANDS:
        assert f"\n  {name} " in result.stdout


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_a_help_of_its_own(run, name):
    result = run(name, "--help")

    assert result.exit_code == 0
    assert result.stdout.startswith(f"Usage: homeai {name}")


def test_the_version_is_told(run):
    assert __version__ in run("--version").stdout


@pytest.mark.parametrize(
    "words",
    [
        ["serv"],
        ["--nope"],
        ["serve", "--port", "70000"],
        ["settings", "get"],
        ["chat", "--max-tokens", "0", "x"],
    ],
)
def test_wrong_usage_ends_with_status_two(run, words):
    assert run(*words).exit_code == 2


@pytest.mark.parametrize("locale", ["C", "POSIX", "C.UTF-8", "de_DE.UTF-8", "de_DE.ISO-8859-1"])
def test_output_is_utf8_whatever_the_locale_says(program, locale):
    for name, value in (("ui.theme", "dark"), ("model.active", "Größe 🦙")):
        status, _, errors = program("settings", "set", name, value, LC_ALL=locale)
        assert (status, errors) == (0, "")

    status, output, _ = program("settings", "get", "model.active", LC_ALL=locale, PYTHONUTF8="0")

    assert (status, output) == (0, "Größe 🦙\n")


def test_a_home_with_umlauts_and_spaces_works(program, tmp_path):
    home = tmp_path / "Omas Rechner ü 🦙"

    status, output, _ = program("settings", "path", HOMEAI_HOME=str(home))

    assert (status, output) == (0, f"{home / 'config' / 'settings.toml'}\n")


def test_a_home_that_is_a_file_is_told_of_in_one_line(program, tmp_path):
    (tmp_path / "file").write_text("")

    status, _, errors = program(
        "settings", "set", "server.port", "1", HOMEAI_HOME=str(tmp_path / "file")
    )

    assert status == 1
    assert errors.startswith("homeai: ")
    assert errors.count("\n") == 1


CRASH = """
import sys
import homeai.cli.status
def crash():
    raise RuntimeError("secret of the user")
homeai.cli.status.paths = crash
sys.argv = ["homeai", *sys.argv[1:]]
from homeai.cli.main import main
main()
"""


def crashed(*words):
    return subprocess.run(
        [sys.executable, "-c", CRASH, *words], capture_output=True, text=True, check=False
    )


def test_an_unexpected_fault_is_one_line_and_status_one():
    done = crashed("status")

    assert done.returncode == 1
    assert done.stderr.startswith("homeai: a fault of homeai (RuntimeError)")
    assert done.stderr.count("\n") == 1


def test_an_unexpected_fault_shows_its_place_when_asked():
    assert "Traceback" in crashed("--verbose", "status").stderr


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no permission bits")
def test_everything_that_is_written_is_the_owners_alone(program, homeai_home):
    program("settings", "set", "server.port", "1")
    program("keys", "create", "a")

    written = list(homeai_home.rglob("*"))
    assert len(written) >= 4
    assert [p for p in written if p.stat().st_mode & 0o077] == []


def test_a_reader_that_leaves_early_is_no_error():
    code = f"{sys.executable!r} -m homeai settings list | true"
    done = subprocess.run(["sh", "-c", code], capture_output=True, text=True, check=False)

    assert "Traceback" not in done.stderr


def test_the_worker_command_is_there_but_not_listed(run, program):
    assert "worker" not in run("--help").stdout

    status, _, errors = program("worker")

    assert status != 0
    assert "No such command" not in errors
