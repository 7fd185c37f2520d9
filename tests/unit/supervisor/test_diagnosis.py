"""What the end of a worker means."""

import signal

import pytest

from homeai.domain.errors import BY_CODE
from homeai.supervisor.diagnosis import Evidence, diagnose


@pytest.mark.parametrize(
    ("evidence", "code", "restart"),
    [
        (Evidence(1, reported=("model_invalid", "Bad file.")), "model_invalid", False),
        (Evidence(1, reported=("ram_insufficient", "No room.")), "ram_insufficient", True),
        (Evidence(-signal.SIGABRT), "worker_failed", True),
        (Evidence(-signal.SIGSEGV), "worker_failed", True),
        (Evidence(-signal.SIGILL), "cpu_kernels_missing", False),
        (Evidence(-signal.SIGKILL), "worker_failed", True),
        (Evidence(-signal.SIGKILL, oom_kills=1), "ram_insufficient", True),
        (Evidence(-signal.SIGKILL, stalled=True), "worker_failed", True),
        (Evidence(-signal.SIGKILL, broken_channel=True), "worker_failed", True),
        (Evidence(1, during_load=True), "worker_failed", True),
        (Evidence(None), "worker_failed", True),
    ],
)
def test_each_end_has_its_meaning(evidence, code, restart):
    ending = diagnose(evidence)

    assert (ending.code, ending.restart) == (code, restart)
    assert ending.code in BY_CODE
    assert ending.sentence.endswith(".")


def test_what_the_worker_said_counts_before_how_it_ended():
    ending = diagnose(Evidence(-signal.SIGABRT, reported=("worker_failed", "The device failed.")))

    assert ending.sentence == "The device failed."


def test_a_hang_is_called_a_hang():
    assert "hung" in diagnose(Evidence(-9, stalled=True)).sentence
