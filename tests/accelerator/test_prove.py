"""`homeai prove` as a user runs it."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest


@pytest.fixture(scope="module")
def proof(plugin, starter_model, tmp_path_factory):
    folder = tmp_path_factory.mktemp("proof")
    command = [sys.executable, "-m", "homeai", "prove", "--model", str(starter_model)]
    command += ["--json", str(folder / "proof.json"), "--html", str(folder / "proof.html")]
    done = subprocess.run(  # noqa: PLW1510 -- looked at below
        command,
        env={**os.environ, "HOMEAI_HOME": str(folder / "home")},
        capture_output=True,
        text=True,
        timeout=170,
    )
    return done, folder


@pytest.mark.timeout(180)
def test_every_promise_holds_and_the_exit_status_says_so(proof):
    done, _ = proof

    assert "BROKEN" not in done.stdout
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_report_tells_what_was_seen_and_holds_no_text(proof):
    _, folder = proof
    report = json.loads((folder / "proof.json").read_text())

    assert report["held"] is True
    scenes = {scene["name"]: scene for scene in report["scenes"]}
    amid = scenes["stream, amid the answer"]
    assert amid["facts"]["first_failure"] == "crashed"
    assert amid["facts"]["gap_ms"] > 0
    assert [a["device"] for a in amid["requests"][1]["attempts"]] == ["gpu", "cpu"]
    assert amid["requests"][0]["output_sha256"] == amid["requests"][1]["output_sha256"]
    for name in ("agent, before its tool acts", "agent, after its tool acted"):
        assert scenes[name]["facts"] == {"tool_calls": 1, "notes_written": 1}
    assert "Once upon" not in (folder / "proof.json").read_text()


def test_the_page_shows_a_time_line_of_each_request(proof):
    _, folder = proof
    page = (folder / "proof.html").read_text()

    assert "promises held" in page
    assert page.count("<svg") > 8
    assert "var(--gap)" in page
    assert "http" not in page.split("</style>")[1]  # nothing is fetched from elsewhere


def test_without_a_compiler_it_says_what_is_missing(starter_model, tmp_path):
    done = subprocess.run(  # noqa: PLW1510 -- looked at below
        [sys.executable, "-m", "homeai", "prove", "--model", str(starter_model)],
        env={**os.environ, "HOMEAI_HOME": str(tmp_path), "PATH": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=60,
    )

    assert done.returncode == 1
    assert "gcc" in done.stderr
