"""The tree as a whole: clean by the tools, in small modules, nothing where it would do harm."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MOST_LINES = 300


def run_tool(*command, **environment):
    done = subprocess.run(
        [sys.executable, "-m", *command],
        cwd=ROOT,
        capture_output=True,
        text=True,
        env={"PATH": "", "NO_COLOR": "1", **environment},
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_ruff_finds_nothing():
    run_tool("ruff", "check", "--no-cache", ".")


def test_all_files_have_the_common_format():
    run_tool("ruff", "format", "--no-cache", "--check", ".")


@pytest.mark.timeout(300)
def test_types_are_strict():
    run_tool("mypy")


def test_types_of_the_bootstrap_are_strict():
    run_tool("mypy", "--explicit-package-bases", "packaging/first_run", MYPYPATH="packaging")


def test_no_module_is_longer_than_three_hundred_lines():
    sources = [*ROOT.glob("homeai/**/*.py"), *ROOT.glob("packaging/**/*.py")]
    lengths = {path: len(path.read_text("utf-8").splitlines()) for path in sources}

    assert {str(p.relative_to(ROOT)): n for p, n in lengths.items() if n > MOST_LINES} == {}


def test_the_packaging_folder_does_not_shadow_the_package_of_that_name():
    assert not (ROOT / "packaging" / "__init__.py").exists()
