"""What may be loaded where, shown by taking it away."""

import subprocess
import sys

import pytest

IMPORT_ALL_BUT_THE_DESKTOP = """
import importlib, pkgutil, sys
sys.modules["PySide6"] = sys.modules["shiboken6"] = sys.modules["llama_cpp"] = None
import homeai
left_out = ("homeai.desktop", "homeai.worker.llama", "homeai.__main__")
def names(path, prefix):
    for module in pkgutil.iter_modules(path, prefix):
        if module.name in left_out:
            continue
        yield module.name
        if module.ispkg:
            yield from names(importlib.import_module(module.name).__path__, module.name + ".")
count = 0
for name in names(homeai.__path__, "homeai."):
    try:
        importlib.import_module(name)
    except ModuleNotFoundError as error:
        # What stands on the native engine needs the native engine; nothing else may.
        assert name.startswith("homeai.worker.") and "llama_cpp" in str(error), (name, error)
    count += 1
print(count)
"""

IMPORT_THE_CORE = """
import importlib, pkgutil, sys
for package in ("homeai.service", "homeai.server"):
    for module in pkgutil.walk_packages(importlib.import_module(package).__path__, package + "."):
        importlib.import_module(module.name)
print(sorted({name.partition(".")[0] for name in sys.modules} & set(%r)))
"""


def run_python(code):
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_everything_but_the_desktop_imports_without_qt_and_llama_cpp():
    assert int(run_python(IMPORT_ALL_BUT_THE_DESKTOP)) > 30


def test_the_core_loads_neither_qt_nor_the_engine_nor_arrays():
    heavy = ["PySide6", "shiboken6", "llama_cpp", "numpy"]

    assert run_python(IMPORT_THE_CORE % heavy) == "[]"


@pytest.mark.parametrize("heavy", ["PySide6", "llama_cpp", "numpy", "starlette", "pydantic"])
def test_the_command_line_loads_what_it_needs_only_when_it_needs_it(heavy):
    code = f"import sys, homeai.cli.main; print({heavy!r} in sys.modules)"

    assert run_python(code) == "False"
