"""A core that answers from a script, over a real socket, announced as the real one is."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import psutil

from homeai.settings import corefile

TOKEN = "the-token-of-this-core"
STATUS = {
    "version": "0.1.0",
    "state": "ready",
    "mode": "auto",
    "degraded": None,
    "model": {"name": "Größe-1B", "path_hash": "0", "context_tokens": 8192},
    "workers": [
        {
            "name": "cpu",
            "pid": 1,
            "state": "ready",
            "device": "cpu",
            "in_flight": 0,
            "restarts": 2,
            "since": "",
            "last_failure": "out_of_memory",
            "load_progress": None,
            "memory": {"rss_bytes": 300 * 2**20},
        }
    ],
    "queue": {"running": 1, "waiting": 2, "limit": 32},
    "devices": [],
    "ram": {"available_bytes": 2**30},
    "problem": None,
}


def chunk(text: str) -> bytes:
    """One server-sent event of a streamed chat answer."""
    event = {"choices": [{"index": 0, "delta": {"content": text}}]}
    return b"data: " + json.dumps(event).encode() + b"\n\n"


DONE = b"data: [DONE]\n\n"
ENDLESS = b"(the answer does not end)"
"""As the last part: nothing more comes until the client leaves."""


class AnsweringCore:
    """Answers each request with the next reply of the script; the last one is repeated.

    Attributes:
        replies: Pairs of status and parts of the body, which are sent one by one.
        requests: Method, path, headers and body of each request so far.
        disconnected: Set once a client left before the whole answer was sent.
    """

    def __init__(self) -> None:
        self.replies: list[tuple[int, list[bytes]]] = []
        self.requests: list[tuple[str, str, dict[str, str], bytes]] = []
        self.disconnected = threading.Event()
        core = self

        class Handler(BaseHTTPRequestHandler):
            def _answer(self) -> None:
                length = int(self.headers.get("Content-Length", 0))
                body = self.rfile.read(length)
                core.requests.append((self.command, self.path, dict(self.headers), body))
                status, parts = core.replies.pop(0) if len(core.replies) > 1 else core.replies[0]
                self.send_response(status)
                self.end_headers()
                for part in parts:
                    if part is ENDLESS:
                        self._until_gone()
                    else:
                        self.wfile.write(part)

            def _until_gone(self) -> None:
                self.connection.settimeout(30)
                if self.connection.recv(1) == b"":
                    core.disconnected.set()

            do_GET = do_POST = _answer  # noqa: N815 -- names that http.server looks for

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))

    @property
    def url(self) -> str:
        """Base address."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def answers(self, *parts: bytes, status: int = 200) -> None:
        """Add a reply to the script."""
        self.replies.append((status, list(parts)))

    def announce(self, core_file: Path) -> None:
        """Write the state file by which commands find the core."""
        started = psutil.Process().create_time()
        corefile.write(core_file, corefile.CoreFile(self.url, os.getpid(), TOKEN, "0.1.0", started))

    @contextmanager
    def serving(self) -> Iterator[AnsweringCore]:
        """Serve until the block ends."""
        self._thread.start()
        try:
            yield self
        finally:
            self._server.shutdown()
            self._thread.join()
            self._server.server_close()
