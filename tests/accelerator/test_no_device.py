"""An engine that could use a GPU, on a machine that has none: the CPU is the usual worker."""

from __future__ import annotations

import psutil

from tests.accelerator.conftest import GpuHouse

ASK = {"prompt": "Once upon a time there was", "max_tokens": 8, "temperature": 0}


def test_without_a_device_the_cpu_answers_and_nothing_is_degraded(plugin, starter_model, tmp_path):
    house = GpuHouse(tmp_path, plugin, starter_model)
    house.gpu.unplug()
    with house.core as core:
        status = core.wait_status(lambda s: s["state"] == "ready")
        answer = core.stream("/v1/completions", ASK)
        children = psutil.Process(core.process.pid).children(recursive=True)
        ended = core.stop()

    assert [worker["name"] for worker in status["workers"]] == ["cpu"]
    assert status["degraded"] is None
    assert answer.done
    assert (answer.homeai["device"], answer.homeai["degraded"]) == ("cpu", False)
    assert ended == 0
    assert not [child for child in children if child.is_running()]


def test_a_request_that_came_before_that_was_known_is_answered(plugin, starter_model, tmp_path):
    house = GpuHouse(tmp_path, plugin, starter_model, "fallback.policy=ask")
    house.gpu.unplug()
    with house.core as core:
        answer = core.stream("/v1/completions", ASK)

    assert answer.done
    assert [attempt["device"] for attempt in answer.homeai["attempts"]] == ["cpu"]
