"""homeai's own addresses, and those that do not exist."""

import asyncio
import json

import httpx
import pytest

from homeai.domain.events import RequestReceived, ServiceStateChanged
from tests.fakes.scripted_core import PHONE, TOKEN, ScriptedCore, door, settings

BODY = {"messages": [{"role": "user", "content": "Hi"}]}
CHAT = "/v1/chat/completions"


@pytest.mark.parametrize("method", ["GET", "HEAD"])
@pytest.mark.parametrize(
    "address", ["/live", "/ready", "/health", "/homeai/v1/status", "/v1/models", "/metrics"]
)
async def test_what_can_be_read_can_be_asked_about(client, method, address):
    assert (await client.request(method, address)).status_code == 200


@pytest.mark.parametrize("address", ["/ready", "/health"])
async def test_while_the_model_loads_the_service_is_not_ready_but_lives(client, core, address):
    core.state = "starting"

    response = await client.get(address)

    assert response.status_code == 503
    assert response.json() == {"status": "starting", "problem": "The model is still loading."}
    assert int(response.headers["retry-after"]) >= 1
    assert (await client.get("/live")).status_code == 200


async def test_the_status_is_the_snapshot(client):
    body = (await client.get("/homeai/v1/status")).json()

    assert body["queue"] == {"running": 0, "waiting": 0, "limit": 32}
    assert body["ram"]["total_bytes"] is None


async def test_figures_come_in_the_form_that_the_client_asks_for(client):
    response = await client.get("/metrics", headers={"accept": "text/plain;version=0.0.4"})

    assert response.headers["content-type"] == "text/plain; version=0.0.4"
    assert response.headers["x-request-id"]
    assert "# asked for text/plain;version=0.0.4\n" in response.text


async def test_a_device_of_the_network_needs_a_key_for_figures():
    application = door(ScriptedCore(settings(lan=True)))
    transport = httpx.ASGITransport(application, client=("192.168.1.20", 5000))
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
        refused = await client.get("/metrics")
        shown = await client.get("/metrics", headers={"authorization": f"Bearer {PHONE.decode()}"})

    assert (refused.status_code, refused.json()["error"]["code"]) == (401, "invalid_api_key")
    assert shown.status_code == 200


@pytest.mark.parametrize("address", ["/", "/v1", "/v1/chat", "/v1/nothing", "/homeai/v1/status/x"])
async def test_an_unknown_address_is_not_found(client, address):
    response = await client.get(address)

    assert (response.status_code, response.json()["error"]["code"]) == (404, "not_found")


@pytest.mark.parametrize(
    ("method", "address", "allowed"),
    [
        ("GET", CHAT, "POST"),
        ("DELETE", "/v1/models", "GET"),
        ("BREW", "/live", "GET"),
        ("HEAD", CHAT, "POST"),
    ],
)
async def test_a_wrong_method_is_told_the_right_ones(client, method, address, allowed):
    response = await client.request(method, address)

    assert response.status_code == 405
    assert allowed in response.headers["allow"].split(", ")


async def test_a_request_can_be_looked_at_and_cancelled(client, core):
    core.script = lambda request: []
    async with asyncio.TaskGroup() as group:
        asking = group.create_task(client.post(CHAT, json=BODY, headers={"x-request-id": "r1"}))
        await core.arrived.wait()
        record = (await client.get("/homeai/v1/requests/r1")).json()
        listed = (await client.get("/homeai/v1/requests")).json()["requests"]
        cancelled = (await client.delete("/homeai/v1/requests/r1")).json()

    assert record == listed[0] == {"id": "r1", "client": "local", "state": "streaming"}
    assert cancelled["cancelled"]
    assert (asking.result().status_code, asking.result().json()["error"]["code"]) == (
        499,
        "cancelled",
    )


async def test_cancelling_what_has_ended_changes_nothing(client, core):
    await client.post(CHAT, json=BODY, headers={"x-request-id": "r1"})
    core.generations[0].cancelled.set()

    assert not (await client.delete("/homeai/v1/requests/r1")).json()["cancelled"]


async def test_an_unknown_request_is_not_found(client):
    for method in ("GET", "DELETE"):
        response = await client.request(method, "/homeai/v1/requests/nobody")
        assert (response.status_code, response.json()["error"]["code"]) == (404, "not_found")


async def test_a_device_on_the_lan_sees_and_cancels_only_its_own_requests():
    core = ScriptedCore(settings(lan=True))
    transport = httpx.ASGITransport(door(core))
    keys = {"phone": PHONE, "tablet": b"hai_tablet", "desktop": TOKEN}
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:

        async def ask(who, method, address, **more):
            headers = {"x-api-key": keys[who], **more.pop("headers", {})}
            return await client.request(method, address, headers=headers, **more)

        await ask("phone", "POST", CHAT, json=BODY, headers={"x-request-id": "r1"})

        assert (await ask("tablet", "GET", "/homeai/v1/requests")).json() == {"requests": []}
        assert (await ask("tablet", "DELETE", "/homeai/v1/requests/r1")).status_code == 404
        assert (await ask("phone", "GET", "/homeai/v1/requests/r1")).status_code == 200
        assert (await ask("desktop", "GET", "/homeai/v1/requests/r1")).status_code == 200


class Stream:
    """Asks the application for a stream and takes what it sends, piece by piece."""

    def __init__(self, app, path, **headers):
        self.app, self.pieces, self.gone = app, asyncio.Queue(), asyncio.Event()
        raw = [(b"host", b"localhost")]
        raw += [(k.replace("_", "-").encode(), v.encode()) for k, v in headers.items()]
        self.scope = {
            "type": "http", "method": "GET", "path": path, "headers": raw, "scheme": "http",
            "client": ("127.0.0.1", 1),
        }  # fmt: skip

    async def receive(self):
        await self.gone.wait()
        return {"type": "http.disconnect"}

    async def run(self):
        await self.app(self.scope, self.receive, self.pieces.put)

    async def text(self):
        while True:
            message = await self.pieces.get()
            if message["type"] == "http.response.body":
                return message["body"].decode()


async def test_events_are_numbered_and_those_missed_come_first(core):
    core.events.append(ServiceStateChanged(state="starting"))
    core.events.append(ServiceStateChanged(state="ready"))
    stream = Stream(door(core), "/homeai/v1/events", last_event_id="1")
    async with asyncio.TaskGroup() as group:
        group.create_task(stream.run())
        assert (await stream.text()).startswith(":")
        missed = await stream.text()
        core.events.append(RequestReceived(request_id="r", client="local"))
        live = await stream.text()
        stream.gone.set()

    assert missed.startswith("id: 2\nevent: ServiceStateChanged\ndata: ")
    assert json.loads(live.splitlines()[2].removeprefix("data: ")) == {
        "type": "RequestReceived", "request_id": "r", "client": "local", "prompt_tokens": None,
    }  # fmt: skip
    assert core.events.followers == 0


async def test_event_streams_end_with_an_error_when_the_service_stops(core):
    app = door(core)
    stream = Stream(app, "/homeai/v1/events")
    async with asyncio.TaskGroup() as group:
        group.create_task(stream.run())
        await stream.text()
        app.closing.begin()
        last = await stream.text()

    assert '"code":"shutting_down"' in last
    assert last.startswith("event: error\n")


async def test_an_event_stream_that_is_asked_for_too_late_ends_at_once(core):
    app = door(core)
    app.closing.begin()
    stream = Stream(app, "/homeai/v1/events")

    await stream.run()

    assert core.events.followers == 0


async def test_a_look_at_the_head_of_an_event_stream_does_not_open_one(client, core):
    response = await client.head("/homeai/v1/events")

    assert response.status_code == 200
    assert core.events.followers == 0


@pytest.mark.parametrize("value", ["x", "-1", "1.5", "9" * 30])
async def test_a_last_event_id_that_is_no_number_is_refused(client, value):
    response = await client.get("/homeai/v1/events", headers={"last-event-id": value})

    assert response.status_code == 400
