"""A client that notes when what arrived, as any client on the LAN would see it."""

from __future__ import annotations

import hashlib
import http.client
import json
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

TIMEOUT_S = 120.0


@dataclass
class Seen:
    """What a client saw of one request; times are seconds since it was sent.

    Attributes:
        tokens_at: Arrival of each piece of text.
        notices: (time, decoded comment).
        connections: Connections it took; 1 = it was kept.
        error: Error object, if it ended with one.
    """

    name: str
    status: int = 0
    headers: dict[str, str] = field(default_factory=dict)
    text: str = ""
    tokens_at: list[float] = field(default_factory=list)
    notices: list[tuple[float, dict[str, Any]]] = field(default_factory=list)
    ended_at: float = 0.0
    facts: dict[str, Any] = field(default_factory=dict)
    error: dict[str, Any] | None = None
    complete: bool = False
    connections: int = 1

    @property
    def output_sha256(self) -> str:
        """Hash of the text, so that a report needs no text."""
        return hashlib.sha256(self.text.encode()).hexdigest()

    @property
    def degraded_at(self) -> float | None:
        """When it was told that another worker takes over."""
        return next((at for at, n in self.notices if n.get("event") == "degraded"), None)

    @property
    def gap_s(self) -> float | None:
        """Seconds between the last token before the failure and the first one after it."""
        at = self.degraded_at
        if at is None:
            return None
        before = [t for t in self.tokens_at if t <= at]
        after = [t for t in self.tokens_at if t > at]
        return after[0] - (before[-1] if before else at) if after else None

    @property
    def devices(self) -> list[str]:
        """Device of each attempt."""
        return [str(attempt["device"]) for attempt in self.facts.get("attempts", ())]


class Client:
    """Asks one core.

    Args:
        port: Of the core, on this computer.
    """

    def __init__(self, port: int) -> None:
        self._port = port

    def call(
        self, method: str, path: str, body: object = None, headers: dict[str, str] | None = None
    ) -> tuple[int, dict[str, str], Any]:
        """Return status, headers and decoded body."""
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=TIMEOUT_S)
        try:
            data = None if body is None else json.dumps(body)
            connection.request(method, path, data, _JSON | (headers or {}))
            response = connection.getresponse()
            raw = response.read()
        finally:
            connection.close()
        found = {name.lower(): value for name, value in response.getheaders()}
        return response.status, found, json.loads(raw) if raw else None

    def status(self) -> dict[str, Any]:
        """The core's status."""
        found: dict[str, Any] = self.call("GET", "/homeai/v1/status")[2]
        return found

    def wait(self, wanted: Callable[[dict[str, Any]], bool], most_s: float = 60.0) -> bool:
        """Wait until the status is as wanted; False if it did not become so in time."""
        end = time.monotonic() + most_s
        pause = threading.Event()
        while not wanted(self.status()):
            if time.monotonic() > end:
                return False
            pause.wait(0.05)
        return True

    def ask(self, name: str, body: dict[str, Any], **headers: str) -> Seen:
        """Send a request and read its answer, whole or streamed, to the end."""
        seen, began = Seen(name), time.perf_counter()
        sent = {"X-Request-Id": name, **{k.replace("_", "-"): v for k, v in headers.items()}}
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=TIMEOUT_S)
        try:
            connection.request("POST", "/v1/completions", json.dumps(body), _JSON | sent)
            response = connection.getresponse()
            seen.status = response.status
            seen.headers = {name.lower(): value for name, value in response.getheaders()}
            if seen.headers.get("content-type", "").startswith("text/event-stream"):
                for line in response:
                    _take_line(seen, line.decode().rstrip("\n"), time.perf_counter() - began)
            else:
                _take_whole(seen, json.loads(response.read()))
        finally:
            connection.close()
        seen.ended_at = time.perf_counter() - began
        return seen

    def run_agent(self, name: str, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        """Ask for an agent run; returns status and body. The same name is the same run."""
        headers = {"X-Request-Id": name, "Idempotency-Key": name}
        status, _, found = self.call("POST", "/homeai/v1/agent", body, headers)
        return status, dict(found or {})

    def abandon(self, name: str, body: dict[str, Any], until: Callable[[], bool]) -> None:
        """Send a request and close the connection once `until` says so."""
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=TIMEOUT_S)
        sent = {"X-Request-Id": name, "HomeAI-Fallback": "ask"}
        connection.request("POST", "/v1/completions", json.dumps(body), _JSON | sent)
        pause, end = threading.Event(), time.monotonic() + TIMEOUT_S
        while not until() and time.monotonic() < end:
            pause.wait(0.02)
        connection.close()

    def record(self, name: str) -> dict[str, Any]:
        """The core's record of a request; empty if there is none."""
        status, _, body = self.call("GET", f"/homeai/v1/requests/{name}")
        return dict(body) if status == http.client.OK else {}


_JSON = {"Content-Type": "application/json"}


def _take_line(seen: Seen, line: str, at: float) -> None:
    if line.startswith(": homeai "):
        seen.notices.append((at, json.loads(line[len(": homeai ") :])))
    elif line == "data: [DONE]":
        seen.complete = True
    elif line.startswith("data: "):
        chunk = json.loads(line[len("data: ") :])
        seen.error = chunk.get("error")
        seen.facts = chunk.get("homeai") or seen.facts
        text = "".join(choice.get("text") or "" for choice in chunk.get("choices", ()))
        if text:
            seen.text += text
            seen.tokens_at.append(at)


def _take_whole(seen: Seen, body: dict[str, Any]) -> None:
    seen.error = body.get("error")
    seen.complete = seen.error is None
    seen.facts = body.get("homeai") or (seen.error or {}).get("homeai") or {}
    seen.text = "".join(choice["text"] for choice in body.get("choices", ()))
