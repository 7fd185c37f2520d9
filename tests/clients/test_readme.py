"""What the README shows works as it stands there, against a running core with the real model."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

README = (Path(__file__).parents[2] / "README.md").read_text("utf-8")
ADDRESS = "http://127.0.0.1:8484"


def example(start):
    return re.search(rf"```(?:python)?\n({re.escape(start)}.*?)```", README, re.DOTALL)[1]


@pytest.fixture(scope="module")
def address(starter_model, tmp_path_factory):
    home = tmp_path_factory.mktemp("readme")
    core = subprocess.Popen(
        [sys.executable, "-m", "homeai", "serve", "--port", "0", "--model", str(starter_model)],
        env={**os.environ, "HOMEAI_HOME": str(home)},
        stdout=subprocess.PIPE,
        text=True,
    )
    said = []
    for line in core.stdout:
        said.append(line)
        if "serves at" in line:
            break
    yield re.search(r"http://\S+", "".join(said))[0]
    core.terminate()
    core.stdout.close()
    assert core.wait(timeout=30) == 0


def test_the_curl_example_gets_an_answer(address, needs_program):
    needs_program("curl")
    command = example("curl").replace(ADDRESS, address)

    done = subprocess.run(
        ["sh", "-c", f"{command.rstrip()} -sS"], capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stderr
    assert "Paris" in json.loads(done.stdout)["choices"][0]["message"]["content"]


def test_the_lines_of_python_get_an_answer(address):
    code = example("from openai").replace(ADDRESS, address)

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr
    assert len(done.stdout) > 5


def test_the_commands_in_the_readme_exist():
    for words in re.findall(r"homeai ((?:keys|models|settings) \w+)", README):
        done = subprocess.run(
            [sys.executable, "-m", "homeai", *words.split(), "--help"],
            capture_output=True,
            check=False,
        )
        assert done.returncode == 0, words
