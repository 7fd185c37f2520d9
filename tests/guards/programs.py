"""Tests that need a program of the system: skipped with the install line, or failed in CI."""

from __future__ import annotations

import os
import shutil

import pytest
from first_run.system import install_line_for_programs


def in_continuous_integration() -> bool:
    """Whether `CI=true`, where everything must be there and a skip would hide a hole."""
    return os.environ.get("CI", "").lower() in {"true", "1"}


def skip_or_fail(reason: str) -> None:
    """Skip the test, except under `CI=true`, where it fails."""
    if in_continuous_integration():
        pytest.fail(reason, pytrace=False)
    pytest.skip(reason)


def require_programs(*names: str) -> None:
    """Skip (or fail under `CI=true`) unless all programs are on the PATH."""
    missing = [name for name in names if shutil.which(name) is None]
    if missing:
        skip_or_fail(f"needs {', '.join(missing)}; {install_line_for_programs(missing)}")
