"""`homeai status`."""

import json

import pytest

from tests.fakes.answering_core import STATUS, TOKEN


def served(core, **changes):
    core.answers(json.dumps({**STATUS, **changes}).encode())


def test_without_a_core_the_status_is_four_and_says_how_to_start_one(run):
    result = run("status")

    assert (result.exit_code, result.stdout) == (4, "")
    assert (
        result.stderr == "homeai: homeai is not running; start it with `homeai` or `homeai serve`\n"
    )


def test_the_status_is_told_in_words(run, core):
    served(core)

    result = run("status")

    assert result.exit_code == 0
    assert result.stdout.splitlines() == [
        f"ready at {core.url}",
        "model: Größe-1B, 8192 tokens of context",
        "worker cpu: ready, 300 MiB",
        "  last failure: out_of_memory (2 restarts)",
        "requests: 1 running, 2 waiting",
        "RAM: 1024 MiB available",
    ]


def test_the_status_for_machines_is_the_cores_own(run, core):
    served(core)

    assert json.loads(run("status", "--json").stdout) == STATUS


def test_the_core_is_asked_with_its_token(run, core):
    served(core)
    run("status")

    ((method, path, headers, _),) = core.requests
    assert (method, path) == ("GET", "/homeai/v1/status")
    assert headers["Authorization"] == f"Bearer {TOKEN}"


def test_a_problem_and_a_degraded_state_are_told(run, core):
    degraded = {"reason": "out_of_memory", "device": "cpu", "since": "12:00"}
    served(core, state="degraded", problem="The disk is full.", degraded=degraded)

    output = run("status").stdout

    assert "problem: The disk is full." in output
    assert "degraded: out_of_memory, on cpu since 12:00" in output


def test_unknown_figures_are_left_out(run, core):
    worker = {**STATUS["workers"][0], "memory": {"rss_bytes": None}, "last_failure": None}
    devices = [{"name": "GPU0", "free_bytes": None, "total_bytes": 5}]
    served(core, model=None, workers=[worker], ram={"available_bytes": None}, devices=devices)

    output = run("status").stdout

    assert "None" not in output
    assert "GPU0: memory unknown" in output


def test_progress_and_devices_are_told(run, core):
    worker = {**STATUS["workers"][0], "state": "starting", "load_progress": 0.5}
    devices = [{"name": "GPU0", "free_bytes": 2**20, "total_bytes": 2**21}]
    served(core, workers=[worker], devices=devices)

    output = run("status").stdout

    assert "worker cpu: starting, loading 50%" in output
    assert "GPU0: 1 of 2 MiB free" in output


def test_a_refusal_of_the_core_is_one_line_and_status_one(run, core):
    core.answers(b'{"error": {"message": "no such key"}}', status=401)

    result = run("status")

    assert (result.exit_code, result.stderr) == (1, "homeai: no such key\n")


@pytest.mark.parametrize("body", [b"", b"<html>", b"[]", b"\xff"])
def test_something_else_at_that_address_is_told_of(run, core, body):
    core.answers(body)

    result = run("status")

    assert (result.exit_code, result.stderr) == (1, "homeai: what answers there is not homeai\n")


def test_an_error_without_words_tells_the_status(run, core):
    core.answers(b"oops", status=500)

    assert "status 500" in run("status").stderr


@pytest.mark.parametrize(
    ("armed", "reason", "told"),
    [
        (True, None, "fallback: armed (standby cold)"),
        (False, "Too little memory.", "fallback: not armed: Too little memory. (standby cold)"),
    ],
)
def test_beside_a_gpu_it_is_told_whether_the_cpu_could_take_over(run, core, armed, reason, told):
    workers = [{**STATUS["workers"][0], "name": name} for name in ("gpu", "cpu")]
    fallback = {"armed": armed, "reason": reason, "standby": "cold"}
    served(core, workers=workers, fallback=fallback)

    assert told in run("status").stdout.splitlines()
