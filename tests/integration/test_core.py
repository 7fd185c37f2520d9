"""The whole core: real process, real sockets, real model."""

from __future__ import annotations

import concurrent.futures
import json
import os
import signal
import socket
import threading

import psutil
import pytest

from tests.fakes.running_core import RunningCore


@pytest.fixture(scope="module")
def core(starter_model, tmp_path_factory):
    home = tmp_path_factory.mktemp("core")
    with RunningCore(home, starter_model, "limits.context_tokens=1024") as running:
        yield running


def raw_request(core, body: dict) -> socket.socket:
    data = json.dumps(body).encode()
    head = f"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost:{core.port}\r\n"
    head += f"Content-Type: application/json\r\nContent-Length: {len(data)}\r\n\r\n"
    connection = socket.create_connection(("127.0.0.1", core.port), timeout=30)
    connection.sendall(head.encode() + data)
    return connection


def story(**more) -> dict:
    return {"messages": [{"role": "user", "content": "Tell a long story."}], **more}


def test_an_answer_tells_where_it_came_from(core):
    status, headers, body = core.chat("Say hello.", max_tokens=8, seed=-5)

    assert status == 200
    assert headers["homeai-device"] == "cpu"
    assert headers["homeai-attempts"] == "1"
    assert body["homeai"]["request_id"] == headers["x-request-id"]
    assert body["homeai"]["attempts"][0]["outcome"] == "finished"
    assert body["homeai"]["degraded"] is False
    assert body["usage"]["completion_tokens"] <= 8


def test_the_same_seed_gives_the_same_answer_over_http(core):
    # another client each time, so that both compute their prompt in the same way
    bodies = [story(max_tokens=16, seed=7, temperature=0.9) for _ in range(2)]
    answers = [
        core.request("POST", "/v1/chat/completions", body, {"Authorization": f"Bearer {n}"})[2]
        for n, body in enumerate(bodies)
    ]

    assert answers[0]["choices"][0]["message"] == answers[1]["choices"][0]["message"]


def test_several_choices_differ_and_are_numbered(core):
    status, _, body = core.chat("Invent a name.", n=3, max_tokens=8, temperature=1, seed=1)

    assert status == 200
    assert [choice["index"] for choice in body["choices"]] == [0, 1, 2]
    assert len({choice["message"]["content"] for choice in body["choices"]}) > 1


def test_a_json_schema_is_kept(core):
    schema = {
        "type": "object",
        "properties": {"name": {"type": "string", "maxLength": 10}, "age": {"type": "integer"}},
        "required": ["name", "age"],
        "additionalProperties": False,
    }
    form = {"type": "json_schema", "json_schema": {"name": "person", "schema": schema}}

    status, _, body = core.chat("A person.", response_format=form, max_tokens=120)

    assert status == 200
    value = json.loads(body["choices"][0]["message"]["content"])
    assert set(value) == {"name", "age"}


def test_stop_strings_echo_and_several_prompts_in_text_completions(core):
    body = {
        "prompt": ["One, two,", "Red, green,"],
        "max_tokens": 6,
        "echo": True,
        "temperature": 0,
        "stop": ["five"],
    }

    status, _, answer = core.request("POST", "/v1/completions", body)

    assert status == 200
    assert answer["choices"][0]["text"].startswith("One, two,")
    assert answer["choices"][1]["text"].startswith("Red, green,")
    assert "five" not in answer["choices"][0]["text"]


def test_a_prompt_that_does_not_fit_is_refused_with_the_numbers(core):
    status, headers, body = core.chat("word " * 2000, max_tokens=10)

    assert status == 400
    assert body["error"]["code"] == "context_length_exceeded"
    assert headers["x-should-retry"] == "false"
    assert "1024" in body["error"]["message"]


def test_another_model_is_not_found(core):
    status, _, body = core.chat("hello", model="gpt-9")

    assert (status, body["error"]["code"]) == (404, "model_not_found")


def test_a_model_without_embeddings_says_so(core):
    status, _, body = core.request("POST", "/v1/embeddings", {"input": "hello"})

    assert (status, body["error"]["code"]) == (400, "invalid_request")


def test_work_stops_when_the_client_goes_away_while_it_streams(core):
    connection = raw_request(core, story(stream=True, max_tokens=900))
    assert b"200 OK" in connection.recv(4096)

    connection.close()

    core.wait_status(lambda s: s["queue"]["running"] == 0, timeout=5)


def test_work_stops_when_the_client_goes_away_during_a_plain_request(core):
    connection = raw_request(core, story(max_tokens=900))
    core.wait_status(lambda s: s["queue"]["running"] == 1)

    connection.close()

    core.wait_status(lambda s: s["queue"]["running"] == 0, timeout=5)


def test_a_place_in_line_is_free_when_its_client_goes_away(core):
    busy = [raw_request(core, story(max_tokens=900)) for _ in range(2)]
    core.wait_status(lambda s: s["queue"]["running"] == 2)
    waiting = raw_request(core, story(max_tokens=5))
    core.wait_status(lambda s: s["queue"]["waiting"] == 1)

    waiting.close()

    core.wait_status(lambda s: s["queue"]["waiting"] == 0, timeout=5)
    for connection in busy:
        connection.close()
    core.wait_status(lambda s: s["queue"]["running"] == 0)


def test_more_requests_than_places_are_refused_with_a_time_to_come_back(core):
    with concurrent.futures.ThreadPoolExecutor(20) as pool:
        asked = [pool.submit(core.chat, "Hi", max_tokens=30) for _ in range(20)]
        answers = [a.result() for a in asked]

    refused = [(headers, body) for status, headers, body in answers if status == 503]
    assert refused
    assert all(body["error"]["code"] == "queue_full" for _, body in refused)
    assert all(int(headers["retry-after"]) >= 1 for headers, _ in refused)
    assert all("x-should-retry" not in headers for headers, _ in refused)
    assert sum(status == 200 for status, _, _ in answers) >= 10


def test_a_request_can_be_cancelled_by_its_id(core):
    connection = raw_request(core, story(max_tokens=900))
    core.wait_status(lambda s: s["queue"]["running"] == 1)
    record = core.request("GET", "/homeai/v1/requests")[2]["requests"][0]

    status, _, body = core.request("DELETE", f"/homeai/v1/requests/{record['id']}")

    assert (status, body["cancelled"], body["state"]) == (200, True, "cancelled")
    assert b"499" in connection.recv(4096)
    connection.close()


def test_events_can_be_read_again_from_a_number(core):
    core.chat("hello", max_tokens=3)
    request = (
        f"GET /homeai/v1/events HTTP/1.1\r\nHost: localhost:{core.port}\r\nLast-Event-ID: 0\r\n\r\n"
    )
    with socket.create_connection(("127.0.0.1", core.port), timeout=10) as connection:
        connection.sendall(request.encode())
        data = b""
        while b"RequestFinished" not in data:
            data += connection.recv(65536)

    assert b"event: WorkerStateChanged" in data
    assert b"hello" not in data


def test_a_request_whose_worker_is_killed_is_answered_by_the_next_one(core):
    asked = story(max_tokens=60)
    undisturbed = core.request("POST", "/v1/chat/completions", asked)[2]
    found = {}

    def ask() -> None:
        found["answer"] = core.request("POST", "/v1/chat/completions", asked)

    thread = threading.Thread(target=ask)
    thread.start()
    status = core.wait_status(lambda s: s["queue"]["running"] == 1)

    os.kill(status["workers"][0]["pid"], signal.SIGKILL)

    thread.join(60)
    code, headers, body = found["answer"]
    assert code == 200
    assert headers["homeai-attempts"] == "2"
    assert body["usage"] == {**undisturbed["usage"], **body["usage"]}
    assert [a["outcome"] for a in body["homeai"]["attempts"]] == ["crashed", "finished"]
    back = core.wait_status(lambda s: s["state"] == "ready")
    assert back["workers"][0]["restarts"] >= 1


def test_no_prompt_key_or_path_is_in_the_log(core):
    core.chat("xylophone-secret-prompt", max_tokens=3)
    core.request("GET", "/v1/models", headers={"Authorization": "Bearer hai_leaked_key"})

    log = (core.home / "logs" / "core.log").read_text()

    assert "request POST /v1/chat/completions status=200" in log
    for secret in ("xylophone", "hai_leaked_key", core.token, str(core.home)):
        assert secret not in log


def test_stopping_the_core_leaves_no_process(starter_model, tmp_path):
    core = RunningCore(tmp_path, starter_model, "limits.context_tokens=512").wait_ready()
    worker = psutil.Process(core.status()["workers"][0]["pid"])
    connection = raw_request(core, story(max_tokens=400))
    core.wait_status(lambda s: s["queue"]["running"] == 1)

    assert core.stop() == 0

    connection.close()
    assert not worker.is_running()
    assert not (tmp_path / "run" / "core.json").exists()


def test_a_worker_ends_when_its_core_is_killed(starter_model, tmp_path):
    core = RunningCore(tmp_path, starter_model, "limits.context_tokens=512").wait_ready()
    worker = psutil.Process(core.status()["workers"][0]["pid"])

    core.process.kill()

    core.stop()
    assert worker.wait(10) is not None or not worker.is_running()


def test_a_second_core_in_the_same_home_says_who_runs(core, starter_model):
    second = RunningCore(core.home, None)

    assert second.process.wait(20) == 1
    second.stop()
    assert str(core.info["pid"]) in second.output


def test_without_a_model_the_core_lives_and_says_what_to_do(tmp_path):
    with RunningCore(tmp_path, None) as core:
        status, _, body = core.chat("hello")

        assert (status, body["error"]["code"]) == (404, "model_not_found")
        assert "models add" in body["error"]["message"]
        assert core.request("GET", "/ready")[0] == 503
        assert core.request("GET", "/live")[0] == 200


def test_sharing_on_the_lan_needs_a_key_and_then_every_request_does(starter_model, tmp_path):
    refused = RunningCore(tmp_path, starter_model, "server.lan=true")
    assert refused.process.wait(20) == 1
    refused.stop()
    assert "homeai keys create" in refused.output

    from homeai.settings.keys import KeyRing

    secret = KeyRing(tmp_path / "data" / "keys.json").create("tablet")
    with RunningCore(tmp_path, None, "server.lan=true") as core:
        assert core.chat("hello")[0] == 401
        assert core.request("GET", "/v1/models")[0] == 401
        assert core.request("GET", "/live")[0] == 200
        for headers in ({"Authorization": f"Bearer {secret}"}, {"x-api-key": secret}):
            assert core.request("GET", "/v1/models", headers=headers)[0] == 200
        bearer = {"Authorization": f"Bearer {core.token}"}
        assert core.request("GET", "/v1/models", headers=bearer)[0] == 200
        wrong = {"Authorization": "Bearer \u00e4\u00f6\u00fc"}
        assert core.request("GET", "/v1/models", headers=wrong)[0] == 401


def test_an_answer_under_a_key_survives_a_restart_and_a_lost_stream_goes_on(
    starter_model, tmp_path
):
    ask = story(max_tokens=12, stream=True)
    headers = {"Idempotency-Key": "bedtime"}
    with RunningCore(tmp_path, starter_model, "limits.context_tokens=512") as core:
        first = core.stream("/v1/chat/completions", ask, headers)
    (tmp_path / "ready.json").unlink()
    with RunningCore(tmp_path, None, "limits.context_tokens=512") as core:
        again = core.stream("/v1/chat/completions", ask, {**headers, "Last-Event-ID": "3"})
        records = core.request("GET", "/homeai/v1/requests")[2]["requests"]

    assert first.done
    assert again.headers["idempotency-replayed"] == "true"
    assert first.raw.endswith(again.raw)
    assert again.raw.startswith("id: 4\n")
    assert records[0]["state"] == "finished"  # what the earlier core wrote down


def test_a_core_that_is_killed_leaves_no_request_open(starter_model, tmp_path):
    with RunningCore(tmp_path, starter_model, "limits.context_tokens=1024") as core:
        connection = raw_request(core, story(max_tokens=800, stream=True))
        said = b""
        while b"data: " not in said:  # so its attempt was written down
            said += connection.recv(4096)
        core.process.kill()
        core.process.wait()
        connection.close()
    (tmp_path / "ready.json").unlink()
    with RunningCore(tmp_path, None, "limits.context_tokens=1024") as core:
        record = core.request("GET", "/homeai/v1/requests")[2]["requests"][0]

    assert (record["state"], record["error"]) == ("failed", "interrupted")
    assert [a["outcome"] for a in record["attempts"]] == ["interrupted"]
