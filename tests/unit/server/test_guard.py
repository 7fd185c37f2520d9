"""Who is let in, and what strangers, pages and logs get to see."""

import logging

import httpx
import pytest

from homeai.settings.keys import KeyFileError
from tests.fakes.scripted_core import PHONE, TOKEN, OneKey, ScriptedCore, door, settings

CHAT = "/v1/chat/completions"
BODY = {"messages": [{"role": "user", "content": "Hi"}]}


def asking(core, *, base="http://localhost", peer="127.0.0.1", **door_options):
    transport = httpx.ASGITransport(door(core, **door_options), client=(peer, 5000))
    return httpx.AsyncClient(transport=transport, base_url=base)


def bearer(secret):
    return {"authorization": b"Bearer " + secret}


def code(response):
    return response.json()["error"]["code"]


async def test_an_unknown_host_is_forbidden(client):
    for host in ("evil.example", "", "localhost@evil.example"):
        response = await client.get("/live", headers={"host": host})
        assert (response.status_code, code(response)) == (403, "forbidden_host")


async def test_a_page_from_elsewhere_is_forbidden(client, core):
    response = await client.post(CHAT, json=BODY, headers={"origin": "http://evil.example"})

    assert (response.status_code, code(response)) == (403, "forbidden_origin")
    assert "access-control-allow-origin" not in response.headers
    assert core.generations == []


async def test_a_cross_site_request_without_origin_is_forbidden_unless_it_only_reads(client):
    crossing = {"sec-fetch-site": "cross-site"}

    assert (await client.post(CHAT, json=BODY, headers=crossing)).status_code == 403
    assert (await client.get("/v1/models", headers=crossing)).status_code == 200


async def test_a_form_of_a_page_is_no_request(client):
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""):
        headers = {"content-type": kind}
        response = await client.post(CHAT, content=b'{"messages": []}', headers=headers)
        assert (response.status_code, code(response)) == (400, "invalid_request")


async def test_a_preflight_from_elsewhere_is_refused(client):
    headers = {"origin": "http://evil.example", "access-control-request-method": "POST"}

    assert (await client.options(CHAT, headers=headers)).status_code == 403


async def test_a_listed_page_may_ask_with_the_headers_its_sdk_sends():
    core = ScriptedCore(settings(allowed_origins=["https://chat.example"]))
    origin = {"origin": "https://chat.example"}
    wish = {
        "access-control-request-method": "POST",
        "access-control-request-headers": "authorization,x-stainless-os",
        "access-control-request-private-network": "true",
    }
    async with asking(core) as client:
        preflight = await client.options(CHAT, headers=origin | wish)
        answer = await client.post(CHAT, json=BODY, headers=origin)
        refusal = await client.post(CHAT, json={}, headers=origin)

    assert preflight.status_code == 204
    assert preflight.headers["access-control-allow-headers"] == "authorization,x-stainless-os"
    assert preflight.headers["access-control-allow-private-network"] == "true"
    for response in (preflight, answer, refusal):
        assert response.headers["access-control-allow-origin"] == "https://chat.example"
        assert response.headers["vary"] == "Origin"
    assert (answer.status_code, refusal.status_code) == (200, 400)


async def test_options_tells_the_methods(client):
    response = await client.options(CHAT)

    assert (response.status_code, response.content) == (204, b"")
    assert "POST" in response.headers["allow"]


async def test_this_computer_needs_no_key_and_programs_are_told_apart(client, core):
    for headers in (
        {},
        bearer(b"a"),
        bearer(b"b"),
        {"x-api-key": "a"},
        bearer(TOKEN),
        bearer(PHONE),
    ):
        assert (await client.post(CHAT, json=BODY, headers=headers)).status_code == 200

    none, one, other, same, desktop, phone = (g.request.client for g in core.generations)
    assert (none, desktop, phone) == ("local", "desktop", "phone")
    assert one == same != other
    assert one.startswith("local:")


async def test_on_the_lan_everything_but_live_needs_a_key():
    core = ScriptedCore(settings(lan=True))
    async with asking(core) as client:
        for address in (
            "/v1/models",
            "/ready",
            "/health",
            "/homeai/v1/status",
            "/nowhere",
            "/live/x",
        ):
            response = await client.get(address)
            assert (response.status_code, code(response)) == (401, "invalid_api_key"), address
            assert response.headers["www-authenticate"].startswith("Bearer")
            assert response.headers["x-should-retry"] == "false"
        assert (await client.get("/live")).status_code == 200


@pytest.mark.parametrize(
    "headers",
    [bearer(PHONE), {"authorization": b"bearer  hai_phone "}, {"x-api-key": PHONE}, bearer(TOKEN),
     {**bearer(b"placeholder"), "x-api-key": PHONE}],
)  # fmt: skip
async def test_on_the_lan_a_known_key_opens(headers):
    async with asking(ScriptedCore(settings(lan=True))) as client:
        assert (await client.get("/v1/models", headers=headers)).status_code == 200


@pytest.mark.parametrize(
    "headers",
    [bearer(b"hai_wrong"), bearer("hai_ü".encode()), bearer(b"\xff\xfe"), {"authorization": b"Bearer"},
     {"authorization": b"Basic hai_phone"}, {"x-api-key": b"\xff"}, {"x-api-key": b""}],
)  # fmt: skip
async def test_on_the_lan_any_other_key_is_refused_and_not_shown(headers):
    async with asking(ScriptedCore(settings(lan=True))) as client:
        response = await client.get("/v1/models", headers=headers)

    assert (response.status_code, code(response)) == (401, "invalid_api_key")
    assert "hai_" not in response.text


async def test_another_computer_needs_a_key_even_if_it_should_not_get_here():
    async with asking(ScriptedCore(), peer="192.168.1.7") as client:
        assert (await client.get("/v1/models")).status_code == 401
        assert (await client.get("/v1/models", headers=bearer(PHONE))).status_code == 200


async def test_a_mapped_loopback_address_is_this_computer():
    async with asking(ScriptedCore(), peer="::ffff:127.0.0.1") as client:
        assert (await client.get("/v1/models")).status_code == 200


async def test_a_broken_key_file_lets_nobody_in_and_is_told_once(caplog):
    class Broken(OneKey):
        def match(self, presented):
            raise KeyFileError("the key file cannot be read; no key is accepted")

    async with asking(ScriptedCore(settings(lan=True)), keys=Broken()) as client:
        for _ in range(2):
            assert (await client.get("/v1/models", headers=bearer(PHONE))).status_code == 401
        assert (await client.get("/v1/models", headers=bearer(TOKEN))).status_code == 200

    assert sum("keys cannot be read" in record.message for record in caplog.records) == 1


@pytest.mark.parametrize("given", ["mine-1", "x" * 128])
async def test_a_request_id_is_kept_and_used(client, core, given):
    response = await client.post(CHAT, json=BODY, headers={"x-request-id": given})

    assert response.headers["x-request-id"] == given == core.generations[0].request_id
    assert response.json()["homeai"]["request_id"] == given


@pytest.mark.parametrize("given", [b"", b"a b", b"x" * 129, b"\xff", "ü".encode()])
async def test_an_unfit_request_id_is_replaced(client, given):
    response = await client.get("/live", headers={"x-request-id": given})

    assert response.headers["x-request-id"].encode("latin-1") != given
    assert len(response.headers["x-request-id"]) >= 20


async def test_errors_carry_the_request_id_too(client):
    response = await client.get("/nowhere", headers={"x-request-id": "mine"})

    assert response.headers["x-request-id"] == "mine"
    assert response.json()["error"]["homeai"]["request_id"] == "mine"


async def test_the_access_log_has_the_route_and_the_client_and_nothing_private(client, caplog):
    caplog.set_level(logging.DEBUG)
    secret = {"messages": [{"role": "user", "content": "diary"}]}

    await client.post(f"{CHAT}?token=private", json=secret, headers=bearer(PHONE))
    await client.get("/v1/models/private-name")
    await client.get("/private-place", headers=bearer(b"private-key"))

    lines = [r.message for r in caplog.records if r.name == "homeai.server.guard"]
    assert len(lines) == 3
    assert "POST /v1/chat/completions status=200" in lines[0]
    assert "client=phone" in lines[0]
    assert "GET /v1/models/{id} status=404" in lines[1]
    assert not any(word in "".join(lines) for word in ("private", "diary", "hai_phone"))


async def test_a_bug_of_ours_is_a_500_that_tells_nothing(core, client, caplog):
    def broken(request):
        raise KeyError(request.prompt.messages[0]["content"])

    core.script = broken
    response = await client.post(CHAT, json={"messages": [{"role": "user", "content": "diary"}]})

    assert (response.status_code, code(response)) == (500, "internal_error")
    assert response.headers["x-should-retry"] == "false"
    assert "diary" not in response.text + caplog.text
    assert "KeyError" in caplog.text
