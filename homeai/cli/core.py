"""A small HTTP client for the running core, on the standard library."""

from __future__ import annotations

import http.client
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from homeai.settings import corefile
from homeai.settings.paths import Paths

START_S = 180.0
_STOP_S = 20.0


class CoreUnreachable(Exception):
    """No core answers."""


class CoreRefused(Exception):
    """The core answered with an error; the text is its message."""


@dataclass(frozen=True, slots=True)
class Core:
    """Where the core is and what lets us in."""

    url: str
    token: str

    def _open(
        self, method: str, path: str, body: object, timeout_s: float
    ) -> http.client.HTTPResponse:
        parts = urlsplit(self.url)
        connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=timeout_s)
        headers = {"Authorization": f"Bearer {self.token}"}
        data = None
        if body is not None:
            data = json.dumps(body).encode()
            headers["Content-Type"] = "application/json"
        try:
            connection.request(method, path, data, headers)
            response = connection.getresponse()
        except (OSError, http.client.HTTPException) as error:
            raise CoreUnreachable(str(error)) from error
        if response.status >= http.client.BAD_REQUEST:
            raise CoreRefused(_message(response.read(65536), response.status))
        return response

    def get(self, path: str) -> dict[str, Any]:
        """GET a JSON object.

        Raises:
            CoreUnreachable: Nobody answers.
            CoreRefused: An error came back.
        """
        with self._open("GET", path, None, 10.0) as response:
            value: dict[str, Any] = json.load(response)
            return value

    def stream(self, path: str, body: object) -> Iterator[dict[str, Any]]:
        """POST and yield the JSON of each server-sent event.

        Raises:
            CoreUnreachable: The connection broke.
            CoreRefused: An error came back, at once or in the stream.
        """
        with self._open("POST", path, body, 600.0) as response:
            try:
                yield from _events(response)
            except (OSError, http.client.HTTPException) as error:
                raise CoreUnreachable("the connection broke") from error


def _events(response: http.client.HTTPResponse) -> Iterator[dict[str, Any]]:
    for line in response:
        if not line.startswith(b"data: "):
            continue
        data = line[6:].strip()
        if data == b"[DONE]":
            return
        value = json.loads(data)
        if "error" in value:
            raise CoreRefused(value["error"]["message"])
        yield value
    raise CoreUnreachable("the stream ended too early")


def _message(body: bytes, status: int) -> str:
    try:
        return str(json.loads(body)["error"]["message"])
    except (ValueError, KeyError, TypeError):
        return f"the service answered with status {status}"


def running(paths: Paths) -> Core:
    """Return the core of this user.

    Raises:
        CoreUnreachable: None runs.
    """
    found = corefile.read(paths.core_file)
    if found is None:
        raise CoreUnreachable("homeai is not running; start it with `homeai` or `homeai serve`")
    return Core(found.url, found.token)


@contextmanager
def running_or_started(paths: Paths) -> Iterator[Core]:
    """Give the running core, or one that is started for this block and ended after it.

    Raises:
        CoreUnreachable: It cannot be started.
    """
    found = corefile.read(paths.core_file)
    if found is not None:
        yield Core(found.url, found.token)
        return
    with tempfile.TemporaryDirectory() as folder:
        ready = Path(folder) / "ready.json"
        command = [sys.executable, "-m", "homeai", "serve", "--port", "0", "--exit-with-parent"]
        process = subprocess.Popen(  # noqa: S603 -- our own program, no foreign text
            [*command, "--ready-file", str(ready)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            env=os.environ,
        )
        try:
            _wait_for(ready, process)
            yield running(paths)
        finally:
            if process.stdin is not None:
                process.stdin.close()
            try:
                process.wait(_STOP_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _wait_for(ready: Path, process: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + START_S
    while not ready.exists():
        try:
            process.wait(0.05)
        except subprocess.TimeoutExpired:
            if time.monotonic() > end:
                raise CoreUnreachable("the service did not become ready in time") from None
        else:
            raise CoreUnreachable("the service could not be started")
