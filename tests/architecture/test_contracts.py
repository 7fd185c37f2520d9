"""The import contracts of pyproject.toml hold, and each is seen to catch a planted violation."""

import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CONFIGURATION = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
CONTRACTS = CONFIGURATION["tool"]["importlinter"]["contracts"]

# Contract, then what is planted: file → line put at its end.
VIOLATIONS = [
    ("The request flows downwards", {"domain/states.py": "import homeai.router"}),
    ("The request flows downwards", {"models/__init__.py": "import homeai.hardware"}),
    ("The request flows downwards", {"supervisor/__init__.py": "import homeai.worker"}),
    ("The request flows downwards", {"shortcuts.py": '"""A module without a place."""'}),
    ("Only the desktop knows Qt", {"service/__init__.py": "import PySide6.QtCore"}),
    ("Only the desktop knows Qt", {"cli/__init__.py": "from PySide6 import QtCore"}),
    ("Only the desktop knows Qt", {"settings/__init__.py": "import shiboken6"}),
    ("Only one package knows llama.cpp", {"worker/engine.py": "import llama_cpp"}),
    ("Arrays stay in the worker", {"router/__init__.py": "import numpy"}),
    (
        "Pydantic stays at the border of the settings",
        {"server/ports.py": "from pydantic import BaseModel"},
    ),
    (
        "Only the service counts for Prometheus",
        {"router/events.py": "import prometheus_client"},
    ),
    (
        "Worker code runs only in worker processes",
        {"service/__init__.py": "import homeai.worker.main"},
    ),
    ("The desktop is a client over HTTP", {"desktop/__init__.py": "import homeai.server.ports"}),
    ("The desktop is a client over HTTP", {"desktop/__init__.py": "import asyncio"}),
    ("Decisions are pure", {"domain/request.py": "import time"}),
    ("Decisions are pure", {"protocol/framing.py": "import socket"}),
    ("Decisions are pure", {"router/ledger.py": "import logging"}),
    (
        "No cycles between siblings",
        {
            "router/first.py": "import homeai.router.second",
            "router/second.py": "import homeai.router.first",
        },
    ),
]


def broken_contracts(folder):
    done = subprocess.run(
        [sys.executable, "-c", "from importlinter.cli import lint_imports_command as c; c()"],
        cwd=folder,
        capture_output=True,
        text=True,
        env={"PATH": "", "NO_COLOR": "1", "COLUMNS": "200", "PYTHONPATH": str(folder)},
        check=False,
    )
    lines = done.stdout.splitlines()
    broken = {line.removesuffix(" BROKEN") for line in lines if line.endswith(" BROKEN")}
    assert bool(broken) == bool(done.returncode), done.stdout + done.stderr
    return broken


@pytest.fixture
def copy(tmp_path):
    without_caches = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "homeai", tmp_path / "homeai", ignore=without_caches)
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def test_all_contracts_are_kept(copy):
    assert broken_contracts(copy) == set()


@pytest.mark.parametrize(("contract", "planted"), VIOLATIONS, ids=lambda value: str(value)[:60])
def test_a_planted_violation_is_caught(copy, contract, planted):
    for name, line in planted.items():
        with (copy / "homeai" / name).open("a", encoding="utf-8") as file:
            file.write(f"\n{line}\n")

    assert contract in broken_contracts(copy)


def test_every_contract_has_a_planted_violation():
    assert {contract["name"] for contract in CONTRACTS} == {name for name, _ in VIOLATIONS}


def test_the_qt_contract_names_every_package_but_the_desktop():
    (contract,) = (c for c in CONTRACTS if c["name"] == "Only the desktop knows Qt")
    packages = {p.parent.name for p in (ROOT / "homeai").glob("*/__init__.py")}
    modules = {p.stem for p in (ROOT / "homeai").glob("*.py")} - {"__init__"}

    named = {name.removeprefix("homeai.") for name in contract["source_modules"]}

    assert named == (packages | modules) - {"desktop"}
