"""Fixtures and guards for every test.

The user's files, keyring, screen and network are out of reach from the first import on.
"""

from __future__ import annotations

import os
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from homeai.settings.paths import Paths
from tests.guards.blocking import no_blocking_calls
from tests.guards.leaks import (
    fail_on_pending_tasks,
    leaked_session_processes,
    mark_session,
    no_leaked_processes,
    no_leaked_threads,
)
from tests.guards.network import only_loopback
from tests.guards.programs import in_continuous_integration, require_programs, skip_or_fail

# Fixtures and hooks are found by their names in this module.
__all__ = ["no_blocking_calls", "no_leaked_processes", "no_leaked_threads", "only_loopback"]

STARTER_MODEL = "SmolLM2-135M-Instruct.Q4_1.gguf"


def _starter_model_path() -> Path:
    given = os.environ.get("HOMEAI_TEST_MODEL")
    if given:
        return Path(given)
    with warnings.catch_warnings():
        # Without XDG_RUNTIME_DIR platformdirs warns about a folder that is not asked for here.
        warnings.simplefilter("ignore")
        return Paths.from_environment(os.environ).models / STARTER_MODEL


# Asked before HOMEAI_HOME is bent away from the user's own folder.
_STARTER_MODEL = _starter_model_path()
_SESSION_HOME = tempfile.TemporaryDirectory(prefix="homeai-tests-")
_SESSION_MARK = mark_session()
_LEAKED: list[str] = []

os.environ["HOMEAI_HOME"] = _SESSION_HOME.name
os.environ["QT_QPA_PLATFORM"] = "offscreen"
# Never the keyring of the person who runs the tests; homeai's own fallback file is used instead.
os.environ["PYTHON_KEYRING_BACKEND"] = "keyring.backends.fail.Keyring"
for _name in [name for name in os.environ if name.startswith("HOMEAI_") and "__" in name]:
    del os.environ[_name]  # a setting of the user's would change what is tested

# Shared cores make the time of one example meaningless.
settings.register_profile("dev", deadline=None, max_examples=50)
settings.register_profile(
    "ci",
    deadline=None,
    max_examples=200,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("ci" if in_continuous_integration() else "dev")


@pytest.fixture(scope="session")
def starter_model() -> Path:
    """Path of the real model that the tests talk to (98 MB, SmolLM2-135M-Instruct, Q4_1)."""
    if not _STARTER_MODEL.is_file():
        skip_or_fail(
            f"needs the starter model, and {_STARTER_MODEL} is not there; "
            "python3 packaging/bootstrap.py test"
        )
    return _STARTER_MODEL


@pytest.fixture
def homeai_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder of this test's own as HOMEAI_HOME."""
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOMEAI_HOME", str(home))
    return home


@pytest.fixture(scope="session")
def anyio_backend() -> tuple[str, dict[str, bool]]:
    """Async tests run on asyncio in debug mode, which tells of coroutines never awaited."""
    return "asyncio", {"debug": True}


@pytest.fixture
def needs_program() -> Callable[..., None]:
    """Call it with names of programs: skips with the install line, fails under `CI=true`."""
    return require_programs


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Honour `@pytest.mark.needs_program("Xvfb", ...)`."""
    for marker in item.iter_markers("needs_program"):
        require_programs(*marker.args)


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> None:
    """Watch the tasks of async tests; the call itself stays with the plugin that owns it."""
    fail_on_pending_tasks(pyfuncitem)


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fail the run when a process that it started, however indirectly, still lives."""
    _LEAKED.extend(leaked_session_processes(_SESSION_MARK))
    if _LEAKED:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
    _SESSION_HOME.cleanup()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Name the processes that were left."""
    if _LEAKED:
        terminalreporter.section("processes left running (ended now)", red=True)
        for line in _LEAKED:
            terminalreporter.line(line)
