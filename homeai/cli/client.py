"""A small HTTP client for the running core, on the standard library."""

from __future__ import annotations

import http.client
import json
from collections.abc import Generator
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

ANSWER_S, TOKEN_S = 10.0, 600.0
"""Longest silence before a short answer, and between two parts of a stream."""
_LONGEST_ERROR = 65536


class CoreUnreachable(Exception):
    """No core answers."""


class CoreRefused(Exception):
    """The core answered with an error; the text is its message."""


@dataclass(frozen=True, slots=True)
class Core:
    """Where the core is and what lets us in."""

    url: str
    token: str

    def get(self, path: str) -> dict[str, Any]:
        """GET a JSON object.

        Raises:
            CoreUnreachable: Nobody answers.
            CoreRefused: An error came back, or something that is no JSON object.
        """
        with self._open("GET", path, None, ANSWER_S) as response:
            try:
                return _object(response.read())
            except (OSError, http.client.HTTPException) as error:
                raise CoreUnreachable(f"the connection to {self.url} broke") from error

    def stream(self, path: str, body: object) -> Generator[dict[str, Any]]:
        """POST and yield the JSON of each server-sent event.

        Close the iterator to stop the answer: the connection ends, and the core stops computing.

        Raises:
            CoreUnreachable: The connection broke, or ended without the mark of a whole answer.
            CoreRefused: An error came back, at once or in the stream.
        """
        with self._open("POST", path, body, TOKEN_S) as response:
            try:
                yield from _events(response)
            except (OSError, http.client.HTTPException) as error:
                raise CoreUnreachable(f"the connection to {self.url} broke") from error

    def _open(
        self, method: str, path: str, body: object, timeout_s: float
    ) -> http.client.HTTPResponse:
        headers = {"Authorization": f"Bearer {self.token}", "Connection": "close"}
        data = None
        if body is not None:
            data = json.dumps(body).encode()
            headers["Content-Type"] = "application/json"
        try:
            parts = urlsplit(self.url)
            connection = http.client.HTTPConnection(
                parts.hostname or "", parts.port, timeout=timeout_s
            )
        except (ValueError, http.client.HTTPException) as error:
            raise CoreUnreachable(f"{self.url} is no address") from error
        try:
            connection.request(method, path, data, headers)
            response = connection.getresponse()
            if response.status < http.client.BAD_REQUEST:
                return response
            with response:
                message = _message(response.read(_LONGEST_ERROR), response.status)
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            raise CoreUnreachable(f"nobody answers at {self.url}") from error
        raise CoreRefused(message)


def _events(response: http.client.HTTPResponse) -> Generator[dict[str, Any]]:
    for line in response:
        if not line.startswith(b"data: "):
            continue
        data = line[6:].strip()
        if data == b"[DONE]":
            return
        value = _object(data)
        if "error" in value:
            raise CoreRefused(_message(data, http.client.OK))
        yield value
    raise CoreUnreachable("the answer ended too early")


def _object(data: bytes) -> dict[str, Any]:
    try:
        value = json.loads(data)
    except ValueError:
        value = None
    if not isinstance(value, dict):
        raise CoreRefused("what answers there is not homeai")
    return value


def _message(body: bytes, status: int) -> str:
    try:
        return str(json.loads(body)["error"]["message"])
    except (ValueError, KeyError, TypeError):
        return f"the service answered with status {status}"
