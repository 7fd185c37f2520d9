"""The same request under the same key is computed once."""

import asyncio

import pytest

from homeai.domain.errors import WorkerFailed
from homeai.domain.stream import Failed
from homeai.server.shared_answer import SharedAnswer, position_after
from tests.fakes.scripted_core import answer

CHAT = "/v1/chat/completions"
KEY = {"idempotency-key": "key-1"}


async def test_a_repeat_gets_the_stored_answer_marked_and_computes_nothing(client, core, chat):
    first = await client.post(CHAT, json=chat(), headers=KEY)
    again = await client.post(CHAT, json=chat(), headers={**KEY, "x-request-id": "second"})

    assert first.json() == again.json()
    assert "idempotency-replayed" not in first.headers
    assert again.headers["idempotency-replayed"] == "true"
    assert again.headers["x-request-id"] == "second"
    assert len(core.generations) == 1


async def test_a_repeat_while_it_runs_joins_it(client, core, chat):
    core.script = lambda request: []
    async with asyncio.TaskGroup() as group:
        asking = [group.create_task(client.post(CHAT, json=chat(), headers=KEY)) for _ in range(2)]
        await core.arrived.wait()
        core.generations[0].push(*answer("Hello"))

    assert [a.result().status_code for a in asking] == [200, 200]
    assert asking[0].result().json() == asking[1].result().json()
    assert len(core.generations) == 1


async def test_another_body_under_the_same_key_is_a_conflict_that_is_not_repeated(client, chat):
    await client.post(CHAT, json=chat(), headers=KEY)
    other = await client.post(CHAT, json=chat(seed=1), headers=KEY)

    assert other.status_code == 409
    assert other.json()["error"]["code"] == "idempotency_conflict"
    assert other.headers["x-should-retry"] == "false"


async def test_the_same_key_of_another_client_is_another_key(client, core, chat):
    for key in ("one", "two"):
        await client.post(CHAT, json=chat(), headers={**KEY, "authorization": f"Bearer {key}"})

    assert len(core.generations) == 2


async def test_a_failed_answer_is_not_kept(client, core, chat):
    core.script = lambda request: [Failed(WorkerFailed("It died."))]
    assert (await client.post(CHAT, json=chat(), headers=KEY)).status_code == 502
    core.script = lambda request: answer("Hello")

    assert (await client.post(CHAT, json=chat(), headers=KEY)).status_code == 200


async def test_a_wrong_body_is_refused_as_without_a_key(client, core):
    response = await client.post(CHAT, json={"messages": 5}, headers=KEY)

    assert response.status_code == 400
    assert not core.kept


async def test_events_of_a_stream_are_numbered_and_a_client_gets_the_rest(client, chat):
    whole = await client.post(CHAT, json=chat(stream=True), headers=KEY)
    ids = [line for line in whole.text.splitlines() if line.startswith("id: ")]
    rest = await client.post(CHAT, json=chat(stream=True), headers={**KEY, "last-event-id": "2"})

    assert ids == [f"id: {n}" for n in range(1, len(ids) + 1)]
    assert rest.text == whole.text[whole.text.index("id: 3") :]


@pytest.mark.parametrize("key", ["", "with space", "x" * 256, "umlaut-ä".encode("latin-1")])
async def test_a_key_that_is_none_is_refused(client, chat, key):
    response = await client.post(CHAT, json=chat(), headers={"idempotency-key": key})

    assert response.status_code == 400
    assert response.json()["error"]["param"] == "Idempotency-Key"


async def test_work_stops_when_nobody_comes_back():
    gone = asyncio.Event()
    shared = SharedAnswer("sha", gone.set, patience_s=0.01)
    shared.enter()
    shared.leave()

    async with asyncio.timeout(5):
        await gone.wait()


async def test_a_client_that_comes_back_in_time_keeps_the_work_alive():
    gone = asyncio.Event()
    shared = SharedAnswer("sha", gone.set, patience_s=3600)
    shared.enter()
    shared.leave()
    shared.enter()

    assert shared._timer is None
    shared.end()


def test_an_unknown_last_event_brings_everything():
    assert position_after([b"id: 1\ndata: a\n\n"], 7) == 0
