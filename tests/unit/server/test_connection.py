"""Clients that vanish, dawdle, flood or talk nonsense, over real sockets."""

import asyncio
import contextlib
import http.client
import json

import h11
import pytest

from homeai.domain.stream import Delta, Started
from homeai.server import call
from homeai.server.connection import ConnectionLimits, Gate
from tests.fakes.scripted_core import ScriptedCore, answer, listening, settings

CHAT = "/v1/chat/completions"
BODY = {"messages": [{"role": "user", "content": "Hi"}]}


class Wire:
    """A bare connection."""

    def __init__(self, reader, writer):
        self.reader, self.writer = reader, writer

    @classmethod
    @contextlib.asynccontextmanager
    async def to(cls, listener):
        port = int(listener.url.rpartition(":")[2])
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        wire = cls(reader, writer)
        try:
            yield wire
        finally:
            writer.transport.abort()

    def send(self, data):
        self.writer.write(data)

    def post(self, body, path=CHAT, **headers):
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        lines = {"host": "localhost", "content-type": "application/json"}
        lines["content-length"] = len(data)
        lines |= {name.replace("_", "-"): value for name, value in headers.items()}
        head = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
        self.send(f"POST {path} HTTP/1.1\r\n{head}\r\n".encode() + data)

    async def response(self):
        """Status, headers and JSON body of the next whole answer."""
        parser = h11.Connection(h11.CLIENT)
        parser.send(h11.Request(method="GET", target="/", headers=[("host", "x")]))
        parser.send(h11.EndOfMessage())
        body, status, headers = b"", None, {}
        while True:
            event = parser.next_event()
            if event is h11.NEED_DATA:
                parser.receive_data(await self.reader.read(65536))
            elif isinstance(event, h11.Response):
                status = event.status_code
                headers = {k.decode(): v.decode() for k, v in event.headers}
            elif isinstance(event, h11.Data):
                body += bytes(event.data)
            elif isinstance(event, h11.EndOfMessage):
                return status, headers, json.loads(body) if body else None
            elif isinstance(event, h11.ConnectionClosed):
                return status, headers, None

    async def closed(self):
        """Wait until the other side ends the connection."""
        with contextlib.suppress(ConnectionError):
            while await self.reader.read(65536):
                pass


def code(body):
    return body["error"]["code"]


@pytest.fixture
async def core():
    return ScriptedCore()


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    "before",
    [[], [Started(0, "cpu", "cpu", 1, 3)], [Started(0, "cpu", "cpu", 1, 3), Delta(0, "a", 1)]],
    ids=["queued", "prefill", "decode"],
)
async def test_work_stops_when_the_client_vanishes(core, stream, before):
    core.script = lambda request: list(before)
    async with listening(core) as listener, Wire.to(listener) as wire:
        wire.post({**BODY, "stream": stream})
        await core.arrived.wait()
        wire.writer.transport.abort()
        await core.generations[0].cancelled.wait()


async def test_an_embedding_stops_when_the_client_vanishes(core):
    async def never():
        await asyncio.Event().wait()

    core.vectors = lambda request: never()
    async with listening(core) as listener, Wire.to(listener) as wire:
        wire.post({"input": "a"}, "/v1/embeddings")
        await core.arrived.wait()
        wire.writer.transport.abort()
        await core.embedding_cancelled.wait()


async def test_requests_follow_each_other_on_one_connection(core):
    async with listening(core) as listener, Wire.to(listener) as wire:
        for _ in range(3):
            wire.post(BODY)
            assert (await wire.response())[0] == 200


async def test_pipelined_requests_are_answered_in_order(core):
    async with listening(core) as listener, Wire.to(listener) as wire:
        wire.post(BODY)
        wire.send(b"GET /live HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")
        text = (await wire.reader.read()).decode()

    assert text.index("chat.completion") < text.index('{"status":"live"}')


async def test_a_chunked_body_is_understood(core):
    async with listening(core) as listener, Wire.to(listener) as wire:
        data = json.dumps(BODY).encode()
        wire.send(
            f"POST {CHAT} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
            "transfer-encoding: chunked\r\n\r\n".encode()
        )
        for byte in (data[:9], data[9:]):
            wire.send(b"%x\r\n%s\r\n" % (len(byte), byte))
        wire.send(b"0\r\n\r\n")

        assert (await wire.response())[0] == 200


async def test_a_client_that_waits_for_100_continue_gets_it(core):
    async with listening(core) as listener, Wire.to(listener) as wire:
        data = json.dumps(BODY).encode()
        wire.post(b"", content_length=len(data), expect="100-continue")
        assert (await wire.reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 100")
        wire.send(data)

        assert (await wire.response())[0] == 200


async def test_a_body_that_says_it_is_too_large_is_refused_before_it_is_sent(core):
    core.settings = settings(max_body_mib=1)
    async with listening(core) as listener, Wire.to(listener) as wire:
        wire.post(b"", content_length=2**20 + 1, expect="100-continue")
        status, headers, body = await wire.response()

    assert (status, code(body)) == (413, "payload_too_large")
    assert headers["x-should-retry"] == "false"


async def test_a_client_that_sends_all_before_it_reads_still_gets_to_read_why(core):
    core.settings = settings(max_body_mib=1)

    def send_then_read(port):
        kind = {"content-type": "application/json"}
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
        with contextlib.closing(connection):
            connection.request("POST", CHAT, b"x" * (32 * 2**20), kind)
            response = connection.getresponse()
            return response.status, json.load(response)

    async with listening(core) as listener:
        port = int(listener.url.rpartition(":")[2])
        status, body = await asyncio.to_thread(send_then_read, port)

    assert (status, code(body)) == (413, "payload_too_large")


async def test_a_chunked_body_without_end_is_cut(core):
    core.settings = settings(max_body_mib=1)
    async with listening(core) as listener, Wire.to(listener) as wire:
        wire.send(
            f"POST {CHAT} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
            "transfer-encoding: chunked\r\n\r\n".encode()
        )
        for _ in range(20):
            wire.send(b"20000\r\n" + b"x" * 2**17 + b"\r\n")
        status, _, body = await wire.response()
        await wire.closed()

    assert (status, code(body)) == (413, "payload_too_large")


async def test_a_body_that_stops_coming_is_given_up(core, monkeypatch):
    monkeypatch.setattr(call, "BODY_PAUSE_S", 0.05)
    async with (
        listening(core, ConnectionLimits(linger_s=0.05)) as listener,
        Wire.to(listener) as wire,
    ):
        wire.post(b"{", content_length=100)
        status, _, body = await wire.response()
        await wire.closed()

    assert (status, code(body)) == (408, "request_timeout")


async def test_a_head_that_never_ends_is_given_up_also_the_second_one(core):
    async with listening(core, ConnectionLimits(head_s=0.1)) as listener:
        for first in (b"", b"GET /live HTTP/1.1\r\nhost: localhost\r\n\r\n"):
            async with Wire.to(listener) as wire:
                if first:
                    wire.send(first)
                    assert (await wire.response())[0] == 200
                wire.send(b"GET /live HTTP/1.1\r\nhost: loc")
                status, _, body = await wire.response()
                await wire.closed()
                assert (status, code(body)) == (408, "request_timeout")


async def test_a_connection_that_says_nothing_is_closed(core):
    async with (
        listening(core, ConnectionLimits(head_s=0.05)) as listener,
        Wire.to(listener) as wire,
    ):
        assert await wire.reader.read() == b""


async def test_a_long_answer_is_not_cut_by_the_limit_for_heads(core):
    core.script = lambda request: []
    async with (
        listening(core, ConnectionLimits(head_s=0.05)) as listener,
        Wire.to(listener) as wire,
        Wire.to(listener) as silent,
    ):
        wire.post(BODY)
        await core.arrived.wait()
        await silent.closed()  # its time is over, so the other's would be as well
        core.generations[0].push(*answer("Hi"))
        assert (await wire.response())[0] == 200


@pytest.mark.parametrize(
    ("head", "status"),
    [
        (b"nonsense\r\n\r\n", 400),
        (b"\x16\x03\x01\x02\x00\x01\x00\r\n\r\n", 400),
        (b"GET /live HTTP/1.1\r\n\r\n", 400),
        (b"GET /live HTTP/1.1\r\nhost: localhost\r\nhost: evil\r\n\r\n", 400),
        (b"GET /live HTTP/1.1\r\nhost: localhost\r\nbad header\r\n\r\n", 400),
        (b"POST /v1/completions HTTP/1.1\r\nhost: localhost\r\ncontent-length: 1, 2\r\n\r\n", 400),
        (b"POST /v1/completions HTTP/1.1\r\nhost: localhost\r\ncontent-length: x\r\n\r\n", 400),
        (b"GET /live HTTP/1.1\r\nhost: localhost\r\nx-long: " + b"x" * 70_000, 431),
    ],
    ids=["text", "tls", "no-host", "two-hosts", "header", "two-lengths", "length", "long"],
)  # fmt: skip
async def test_what_is_no_http_is_refused_in_the_common_shape(core, head, status):
    async with listening(core) as listener, Wire.to(listener) as wire:
        wire.send(head)
        got, headers, body = await wire.response()
        await wire.closed()

    assert (got, code(body)) == (status, "invalid_request")
    assert headers["connection"] == "close"


async def test_nonsense_in_the_middle_of_a_body_ends_the_request(core):
    async with listening(core) as listener, Wire.to(listener) as wire:
        wire.send(
            f"POST {CHAT} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
            "transfer-encoding: chunked\r\n\r\nno chunk\r\n".encode()
        )
        status, _, body = await wire.response()
        await wire.closed()

    assert (status, code(body)) == (400, "invalid_request")
    assert core.generations == []


async def test_an_old_client_without_a_host_is_refused(core):
    async with listening(core) as listener, Wire.to(listener) as wire:
        wire.send(b"GET /live HTTP/1.0\r\n\r\n")
        status, _, _ = await wire.response()

    assert status in (400, 403)


@pytest.mark.parametrize(("host", "status"), [("localhost", 200), ("evil.example", 403)])
async def test_the_host_of_a_whole_address_as_target_counts(core, host, status):
    async with listening(core) as listener, Wire.to(listener) as wire:
        wire.send(f"GET http://{host}/live HTTP/1.1\r\nhost: localhost\r\n\r\n".encode())

        assert (await wire.response())[0] == status


async def test_a_wish_for_a_web_socket_is_answered_as_plain_http(core, caplog):
    async with listening(core) as listener, Wire.to(listener) as wire:
        wire.send(
            b"GET /live HTTP/1.1\r\nhost: localhost\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n"
        )
        assert (await wire.response())[0] == 200

    assert "upgrade" not in caplog.text.lower()


async def test_one_connection_too_many_is_told_so_and_does_not_harm_the_others(core):
    async with (
        listening(core, ConnectionLimits(total=1)) as listener,
        Wire.to(listener) as first,
    ):
        first.post(BODY)
        assert (await first.response())[0] == 200
        async with Wire.to(listener) as second:
            status, headers, body = await second.response()
        assert (status, code(body)) == (503, "queue_full")
        assert int(headers["retry-after"]) >= 1
        first.post(BODY)
        assert (await first.response())[0] == 200


async def test_a_reader_that_takes_nothing_is_cut_off_and_its_work_stops(core):
    core.script = lambda request: [Started(0, "cpu", "cpu", 1, 3)]
    async with (
        listening(core, ConnectionLimits(stall_s=0.05)) as listener,
        Wire.to(listener) as wire,
    ):
        wire.writer.transport.pause_reading()
        wire.post({**BODY, "stream": True})
        await core.arrived.wait()
        (generation,) = core.generations
        for _ in range(64):  # beyond what the buffers of both sides hold
            generation.push(Delta(0, "x" * 2**18, 1))
        await generation.cancelled.wait()


def test_the_gate_counts_each_other_computer_and_all_together():
    gate = Gate(ConnectionLimits(total=4, per_address=2))

    assert [gate.enter("192.168.1.5") for _ in range(3)] == [True, True, False]
    assert gate.enter("127.0.0.1")
    assert gate.enter("127.0.0.1")
    assert not gate.enter("::1")
    gate.leave("192.168.1.5")
    assert gate.enter("192.168.1.5")
    assert not gate.enter("192.168.1.6")
