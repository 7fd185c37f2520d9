"""Binding, serving and stopping."""

import asyncio
import logging
import socket

import httpx
import pytest

from homeai.domain.errors import ShuttingDown
from homeai.domain.stream import Delta, Failed, Started
from homeai.server.listener import BindingRefused, bind, check_binding
from tests.fakes.scripted_core import ScriptedCore, listening, settings

BODY = {"messages": [{"role": "user", "content": "Hi"}]}
CHAT = "/v1/chat/completions"


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "127.0.0.5", "::1"])
def test_this_computers_own_addresses_need_no_permission(host):
    check_binding(settings(host=host), has_key=False)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.5", "box"])
def test_other_addresses_need_the_lan_setting_and_a_key(host):
    with pytest.raises(BindingRefused, match=r"server\.lan"):
        check_binding(settings(host=host), has_key=True)
    with pytest.raises(BindingRefused, match="homeai keys create"):
        check_binding(settings(host=host, lan=True), has_key=False)

    check_binding(settings(host=host, lan=True), has_key=True)


def test_a_port_in_use_is_named():
    with bind("127.0.0.1", 0) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(BindingRefused, match=f"Port {port} .* in use"):
            bind("127.0.0.1", port)


def test_an_address_of_another_computer_is_refused():
    with pytest.raises(BindingRefused, match="none of this computer"):
        bind("192.0.2.1", 0)


def test_localhost_is_reached_at_127_0_0_1():
    with bind("localhost", 0) as sock:
        assert sock.getsockname()[0] == "127.0.0.1"


def has_ipv6():
    try:
        with socket.socket(socket.AF_INET6) as sock:
            sock.bind(("::1", 0))
    except OSError:
        return False
    return True


@pytest.mark.parametrize(
    "host",
    ["127.0.0.1", pytest.param("::1", marks=pytest.mark.skipif(not has_ipv6(), reason="no IPv6"))],
)
async def test_the_address_it_gives_works(host):
    async with listening(ScriptedCore(), host=host) as listener, httpx.AsyncClient() as client:
        assert (await client.get(f"{listener.url}/live")).status_code == 200


async def test_stopping_ends_what_is_open_without_a_traceback(caplog):
    caplog.set_level(logging.INFO)
    core = ScriptedCore(script=lambda request: [Started(0, "cpu", "cpu", 1, 3), Delta(0, "a", 1)])
    async with listening(core) as listener, httpx.AsyncClient() as client:

        async def read(method, path, **more):
            async with client.stream(method, listener.url + path, **more) as response:
                begun.release()
                return "".join([text async for text in response.aiter_text()])

        begun = asyncio.Semaphore(0)
        async with asyncio.TaskGroup() as group:
            events = group.create_task(read("GET", "/homeai/v1/events"))
            answer = group.create_task(read("POST", CHAT, json={**BODY, "stream": True}))
            await begun.acquire()
            await begun.acquire()
            # as the service does: the router drains, then the door closes
            core.generations[0].push(Failed(ShuttingDown("The service is stopping.")))
            listener.stop()

    assert '"shutting_down"' in events.result()
    assert '"shutting_down"' in answer.result()
    assert "[DONE]" not in answer.result()
    assert "Traceback" not in caplog.text


async def test_a_client_that_dawdles_does_not_hold_up_the_end(caplog):
    async with listening(ScriptedCore()) as listener:
        port = int(listener.url.rpartition(":")[2])
        _, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(
            f"POST {CHAT} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
            "content-length: 100\r\n\r\n".encode()
        )
        async with httpx.AsyncClient() as client:  # so that the other was surely taken in
            await client.get(f"{listener.url}/live")
    writer.transport.abort()

    assert "Traceback" not in caplog.text
