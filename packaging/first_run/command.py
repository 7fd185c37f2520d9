"""The command line: look for what is missing, make the environment, start the program."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass

from first_run import environment, starter_model, system
from first_run.display import has_display
from first_run.places import Places
from first_run.problems import SetupError, UsageError
from first_run.steps import run_step, say

INSTALL_FLAG = "--install-system-packages"
FREE_DISK_BYTES = 2_000_000_000

USAGE = f"""\
usage: python3 packaging/bootstrap.py [{INSTALL_FLAG}] run  [ARGUMENTS OF homeai]
       python3 packaging/bootstrap.py [{INSTALL_FLAG}] test [ARGUMENTS OF pytest]
       python3 packaging/bootstrap.py {INSTALL_FLAG}

run    makes .venv, installs homeai, fetches the starter model, starts the tray app
test   the same with what the tests need, then runs all tests
{INSTALL_FLAG}
       first installs what the system lacks (Debian and Ubuntu, as root); alone: for run and test

The first run takes some minutes (the engine is compiled for this processor), later ones seconds.
"""


@dataclass(frozen=True, slots=True)
class Request:
    """What was asked for on the command line.

    Attributes:
        action: "run", "test", or "" for system packages only.
        arguments: Passed on to homeai or pytest.
        install_system_packages: Whether to install what the system lacks.
    """

    action: str
    arguments: tuple[str, ...]
    install_system_packages: bool


def parse(argv: Sequence[str]) -> Request | None:
    """Read the command line; None asks for the usage text.

    Raises:
        UsageError: The words are not understood.
    """
    rest = list(argv)
    install = False
    # Either side of the action will do; behind other arguments the word belongs to the program.
    if rest[:1] == [INSTALL_FLAG]:
        install, rest = True, rest[1:]
    if rest[1:2] == [INSTALL_FLAG] and rest[0] in {"run", "test"}:
        install, rest = True, [rest[0], *rest[2:]]
    if rest[:1] in (["-h"], ["--help"]):
        return None
    if not rest and install:
        return Request("", (), install_system_packages=True)
    if not rest or rest[0] not in {"run", "test"}:
        given = f"{rest[0]!r} is not known" if rest else "nothing was asked for"
        msg = f"{given}; allowed are run and test\n\n{USAGE}"
        raise UsageError(msg)
    return Request(rest[0], tuple(rest[1:]), install_system_packages=install)


def opens_window(request: Request) -> bool:
    """Whether the program will show a window: `homeai` without a command, on a screen."""
    options_only = all(argument.startswith("-") for argument in request.arguments)
    return request.action == "run" and options_only and has_display()


def wanted_needs(request: Request, places: Places) -> list[system.Need]:
    """What this request needs of the system, the environment's state considered."""
    needs = []
    if not places.python.exists():
        needs.append(system.VENV)
    if environment.needs_compiler(places):
        needs += [system.VENV, system.COMPILER, system.CMAKE]
    if sys.platform == "linux":
        everything = not request.action
        if opens_window(request) or request.action == "test" or everything:
            needs += system.QT_LIBRARIES
        if (opens_window(request) and os.environ.get("DISPLAY")) or everything:
            needs += system.X11_LIBRARIES
        if everything or (request.action == "test" and request.install_system_packages):
            needs += [*system.X11_LIBRARIES, *system.TEST_PROGRAMS]
    return list(dict.fromkeys(needs))


def check_system(request: Request, places: Places) -> None:
    """Install what is missing, when asked to; else name all of it at once.

    Raises:
        SetupError: Something is missing.
    """
    missing = system.missing(wanted_needs(request, places))
    if missing and request.install_system_packages:
        _install_packages(missing, places)
        missing = system.missing(missing)
    problems = [need.what for need in missing]
    free = shutil.disk_usage(places.checkout).free
    if request.action and not places.python.exists() and free < FREE_DISK_BYTES:
        problems.append(
            f"room on the disk: {free // 1_000_000} MB are free, "
            f"about {FREE_DISK_BYTES // 1_000_000} MB are needed"
        )
    if not problems:
        return
    lines = ["this system lacks:", *(f"  - {problem}" for problem in problems)]
    if missing:
        lines += ["install it with:", *_indented(missing)]
        if system.package_tool() == system.APT and not request.install_system_packages:
            lines.append(f"or let this program do it, as root, with {INSTALL_FLAG}")
    raise SetupError("\n".join(lines))


def _indented(missing: list[system.Need]) -> list[str]:
    line = system.install_line(missing, system.package_tool())
    return [f"  {part}" for part in line.splitlines()]


def _install_packages(missing: list[system.Need], places: Places) -> None:
    tool = system.package_tool()
    if tool != system.APT or not system.is_superuser():
        line = "\n".join(_indented(missing))
        msg = f"{INSTALL_FLAG} works on Debian and Ubuntu as root; here, type:\n{line}"
        raise SetupError(msg)
    env = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    command = system.install_command(missing, tool)
    log = places.logs / "system-packages.log"
    update = ["apt-get", "update"]
    try:
        run_step("reading the package lists", update, log, env=env)
    except SetupError:
        say("the package lists could not be read; once more")
        run_step("reading the package lists", update, log, env=env)
    run_step(f"installing {' '.join(command[4:])}", command, log, env=env)


def prepare(request: Request, places: Places) -> dict[str, str]:
    """Do everything that comes before the program, and return its environment."""
    extras = {"desktop", "test"} if request.action == "test" else {"desktop"}
    check_system(request, places)
    if not environment.is_ready(places, extras):
        required = request.action == "test" or opens_window(request)
        environment.make(places, extras, desktop_required=required)
    model = starter_model.ensure(places, environment.model_folder(places))
    program_environment = dict(os.environ)
    if request.action == "test":
        program_environment.setdefault("HOMEAI_TEST_MODEL", str(model))
    return program_environment


def program(request: Request, places: Places) -> list[str]:
    """The command to start at the end."""
    python = str(places.python)
    if request.action == "test":
        return [python, "-m", "pytest", *request.arguments]
    arguments = list(request.arguments)
    if not arguments and not has_display():
        say("no display here, so the server starts without a window; its chat address follows")
        arguments = ["serve"]
    return [python, "-m", "homeai", *arguments]


def _start(command: list[str], env: dict[str, str]) -> int:
    if os.name == "posix":
        # The program takes this process's place: signals and the exit code are its own.
        os.execve(command[0], command, env)
    return subprocess.run(command, env=env, check=False).returncode


def main(argv: Sequence[str]) -> int:
    """Run the set-up and the program.

    Returns:
        Exit code: the program's own, else 1 failed, 2 wrong usage, 130 interrupted.
    """
    # A terminated set-up ends its running step too, by way of the exception.
    signals = [signal.SIGTERM, *([signal.SIGHUP] if hasattr(signal, "SIGHUP") else [])]
    for number in signals:
        signal.signal(number, lambda number, _: sys.exit(128 + number))
    try:
        request = parse(argv)
        if request is None:
            print(USAGE, end="")
            return 0
        places = Places.from_environment()
        if not request.action:
            check_system(request, places)
            say("this system has what homeai needs")
            return 0
        env = prepare(request, places)
        command = program(request, places)
        if request.action == "test":
            os.chdir(places.checkout)  # pytest finds its configuration there
        for number in signals:
            signal.signal(number, signal.SIG_DFL)
        return _start(command, env)
    except SetupError as error:
        print(f"homeai set-up: {error}", file=sys.stderr)
        return error.exit_code
    except OSError as error:
        # A folder that may not be written, a full disk: the system's own words say which.
        print(f"homeai set-up: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nhomeai set-up: interrupted; start it again to go on from here", file=sys.stderr)
        return 130
