"""`homeai serve`: options and refusals. What it serves is tested elsewhere."""

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from homeai.settings import corefile


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--set", "server.port"], "section.key=value"),
        (["--set", "server.prt=1"], "did you mean server.port?"),
        (["--set", "limits.concurrency=0"], "(from the flag)"),
        (["--host", "foo bar"], "an IP address"),
        (["--model", " "], "a name or a file is needed"),
    ],
)
def test_a_setting_that_cannot_be_used_is_wrong_usage(run, words, said):
    result = run("serve", *words)

    assert result.exit_code == 2
    assert said in result.stderr
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--host", "0.0.0.0"], "server.lan is off"),
        (["--set", "server.lan=yes", "--host", "0.0.0.0"], "no API key"),
    ],
)
def test_other_devices_are_not_let_in_by_accident(program, words, said):
    status, output, errors = program("serve", "--port", "0", *words)

    assert status == 1
    assert said in output + errors
    assert "Traceback" not in errors


def test_it_says_where_it_serves_writes_the_ready_file_and_ends_cleanly(paths, tmp_path):
    ready = tmp_path / "ready.json"
    words = ["serve", "--port", "0", "--ready-file", str(ready)]
    with subprocess.Popen(
        [sys.executable, "-m", "homeai", *words], stdout=subprocess.PIPE, text=True
    ) as core:
        said = core.stdout.readline()
        announced = corefile.read(paths.core_file)
        assert said == f"homeai serves at {announced.url}\n"
        assert announced.pid == core.pid

        core.send_signal(signal.SIGTERM)
        assert core.wait(60) == 0

    assert not paths.core_file.exists()
    told = json.loads(ready.read_text())
    assert (told["url"], told["pid"]) == (announced.url, announced.pid)
    assert Path(told["token_file"]).read_text() == announced.token
