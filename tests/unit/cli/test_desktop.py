"""`homeai` without a command."""

import os
import signal
import subprocess
import sys

import pytest

MISSING = "libEGL.so.1: cannot open shared object file"
WITHOUT_QT = """
import sys
import importlib.util
from importlib.machinery import PathFinder
class NoQt:
    def find_spec(self, name, path=None, target=None):
        if {mode!r} == "missing" and name == "PySide6":
            return None
        if {mode!r} == "broken" and name.startswith("PySide6.Qt"):
            raise ImportError({missing!r}, name=name)
        return PathFinder.find_spec(name, path, target)
sys.meta_path[:] = [f for f in sys.meta_path if f is not PathFinder] + [NoQt()]
sys.argv = ["homeai"]
from homeai.cli.main import main
main()
"""


def started(code, environment):
    clean = {
        k: v
        for k, v in os.environ.items()
        if k not in {"DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM"}
    }
    return subprocess.Popen(
        [sys.executable, "-c", code],
        env={**clean, "HOMEAI_SERVER__PORT": "0", **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


PLAIN = "import sys\nsys.argv = ['homeai']\nfrom homeai.cli.main import main\nmain()"


@pytest.mark.skipif(sys.platform != "linux", reason="other systems always have a display")
@pytest.mark.parametrize(
    ("code", "environment", "reason"),
    [
        (PLAIN, {}, "There is no display: serving without a window.\n"),
        (PLAIN, {"DISPLAY": ":9731"}, "There is no display: serving without a window.\n"),
        (
            WITHOUT_QT.format(mode="missing", missing=""),
            {"QT_QPA_PLATFORM": "offscreen"},
            "PySide6 is not installed: serving without a window.\n",
        ),
        (
            WITHOUT_QT.format(mode="broken", missing=MISSING),
            {"QT_QPA_PLATFORM": "offscreen"},
            f"The window's libraries do not load ({MISSING}): serving without a window.\n",
        ),
    ],
    ids=["no display", "a stale display", "no PySide6", "no system libraries"],
)
def test_without_a_window_it_says_why_in_one_line_and_serves(code, environment, reason):
    with started(code, environment) as core:
        assert core.stderr.readline() == reason
        assert core.stdout.readline().startswith("homeai serves at http://127.0.0.1:")

        core.send_signal(signal.SIGTERM)
        assert core.wait(60) == 0
