"""A small HTTP server that speaks like a core, on a real socket, for window tests."""

from __future__ import annotations

import contextlib
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

READY = {
    "version": "0.1.0",
    "state": "ready",
    "problem": None,
    "model": {"name": "Test-Model", "tiny": True, "context_tokens": 1024},
    "workers": [{"name": "cpu", "state": "ready", "load_progress": None}],
    "queue": {"running": 0, "waiting": 0, "limit": 32},
}


class DesktopCore:
    """The server.

    Attributes:
        snapshot: What `/homeai/v1/status` answers.
        script: What a chat answers: texts, or dicts sent as they are; None = cut the connection.
        asked: Bodies of chat requests.
        hold: While it is cleared, a chat stops before its last piece.
    """

    def __init__(self) -> None:
        self.snapshot = dict(READY)
        self.script: list = ["Hello ", "**world**"]
        self.asked: list[dict] = []
        self.tokens: list[str] = []
        self.hold = threading.Event()
        self.hold.set()
        core = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.0"  # a connection a request: nothing stays open

            def log_message(self, *_args) -> None:
                pass

            def do_GET(self) -> None:
                core.tokens.append(self.headers.get("Authorization", ""))
                body = json.dumps(core.snapshot).encode()
                self.send_response(200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def do_POST(self) -> None:
                size = int(self.headers["Content-Length"])
                core.asked.append(json.loads(self.rfile.read(size)))
                self.send_response(200)
                self.send_header("Content-Type", "text/event-stream")
                self.send_header("Connection", "close")
                self.end_headers()
                with contextlib.suppress(OSError):
                    core._play(self.wfile)
                self.close_connection = True

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = False
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.02}
        )
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def _play(self, out) -> None:
        for number, given in enumerate(self.script):
            if number == len(self.script) - 1:
                self.hold.wait(20)
            if given is None:
                return
            step = given
            if isinstance(given, str):
                step = {"choices": [{"index": 0, "delta": {"content": given}}]}
            if "comment" in step:
                out.write(b": homeai " + json.dumps(step["comment"]).encode() + b"\n\n")
            else:
                name = b"event: error\n" if "error" in step else b""
                out.write(name + b"data: " + json.dumps(step).encode() + b"\n\n")
            out.flush()
            if "error" in step:
                return
        last = {"choices": [], "homeai": {"device": "cpu"}}
        out.write(b"data: " + json.dumps(last).encode() + b"\n\ndata: [DONE]\n\n")

    def close(self) -> None:
        self.hold.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
