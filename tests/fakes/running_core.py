"""A real `homeai serve` process with the real model, for integration and client tests."""

from __future__ import annotations

import http.client
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

START_S = 60


class Streamed:
    """What came of a stream.

    Attributes:
        chunks: Decoded data events.
        notices: Decoded `: homeai` comments.
        done: Whether it ended with [DONE].
    """

    def __init__(self, status: int, headers: dict, raw: str) -> None:
        self.status, self.headers, self.raw = status, headers, raw
        lines = raw.splitlines()
        data = [line[6:] for line in lines if line.startswith("data: ")]
        self.done = bool(data) and data[-1] == "[DONE]"
        self.chunks = [json.loads(one) for one in data if one != "[DONE]"]
        self.notices = [json.loads(line[9:]) for line in lines if line.startswith(": homeai ")]

    @property
    def text(self) -> str:
        return "".join(
            choice.get("text", choice.get("delta", {}).get("content")) or ""
            for chunk in self.chunks
            for choice in chunk.get("choices", ())
        )

    @property
    def homeai(self) -> dict:
        """The facts of the last chunk, or of the error."""
        last = self.chunks[-1]
        return last["error"]["homeai"] if "error" in last else last["homeai"]

    @property
    def error(self) -> dict | None:
        return self.chunks[-1].get("error") if self.chunks else None


class RunningCore:
    """Starts a core in a home of its own.

    Args:
        home: Becomes HOMEAI_HOME.
        model: Linked into the model folder; None = none.
        flags: `section.key=value`.
        environment: More variables.
        program: What Python runs.
    """

    def __init__(
        self,
        home: Path,
        model: Path | None,
        *flags: str,
        name: str | None = None,
        environment: dict[str, str] | None = None,
        program: tuple[str, ...] = ("-m", "homeai"),
    ) -> None:
        self.home = home
        folder = home / "data" / "models"
        folder.mkdir(parents=True, exist_ok=True)
        if model is not None:
            link = folder / (name or model.name)
            if not link.is_symlink():
                link.symlink_to(model)
        self.ready_file = home / "ready.json"
        self.ready_file.unlink(missing_ok=True)
        command = [sys.executable, *program, "serve", "--port", "0"]
        command += ["--ready-file", str(self.ready_file)]
        for flag in ("memory.ram_reserve_min_mib=256", "memory.ram_reserve_percent=1", *flags):
            command += ["--set", flag]
        self.process = subprocess.Popen(
            command,
            env={**os.environ, "HOMEAI_HOME": str(home), **(environment or {})},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def wait_ready(self) -> RunningCore:
        end = time.monotonic() + START_S
        while not self.ready_file.exists():
            if self.process.poll() is not None or time.monotonic() > end:
                raise RuntimeError(f"core is not ready: {self.process.stdout.read()}")
            self.process.poll()
            try:
                self.process.wait(0.05)
            except subprocess.TimeoutExpired:
                continue
        self.info = json.loads(self.ready_file.read_text())
        self.token = Path(self.info["token_file"]).read_text()
        return self

    @property
    def url(self) -> str:
        return self.info["url"]

    @property
    def port(self) -> int:
        return int(self.url.rsplit(":", 1)[1])

    def request(self, method: str, path: str, body=None, headers=None, timeout=60):
        """Return (status, headers, decoded body)."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        headers = dict(headers or {})
        data = body
        if body is not None and not isinstance(body, bytes):
            data = json.dumps(body).encode()
            headers.setdefault("Content-Type", "application/json")
        try:
            connection.request(method, path, data, headers)
            response = connection.getresponse()
            raw = response.read()
        finally:
            connection.close()
        try:
            value = json.loads(raw) if raw else None
        except ValueError:
            value = raw.decode()
        return response.status, {k.lower(): v for k, v in response.getheaders()}, value

    def chat(self, text: str, **more):
        body = {"messages": [{"role": "user", "content": text}], "temperature": 0, **more}
        return self.request("POST", "/v1/chat/completions", body)

    def stream(self, path: str, body: dict, headers=None, timeout=60) -> Streamed:
        """Read a whole stream."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        sent = {"Content-Type": "application/json", **(headers or {})}
        try:
            connection.request("POST", path, json.dumps({**body, "stream": True}), sent)
            response = connection.getresponse()
            raw = response.read().decode()
        finally:
            connection.close()
        return Streamed(response.status, {k.lower(): v for k, v in response.getheaders()}, raw)

    def status(self) -> dict:
        return self.request("GET", "/homeai/v1/status")[2]

    def wait_status(self, wanted, timeout=30) -> dict:
        """Poll the status until `wanted(status)`; returns it."""
        end = time.monotonic() + timeout
        while True:
            status = self.status()
            if wanted(status):
                return status
            if time.monotonic() > end:
                raise TimeoutError(status)
            try:
                self.process.wait(0.05)
            except subprocess.TimeoutExpired:
                continue

    def stop(self) -> int:
        """Ask it to end; returns its exit status. Safe to call twice."""
        if self.process.stdout.closed:
            return self.process.returncode
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            status = self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            status = self.process.wait()
        self.output = self.process.stdout.read()
        self.process.stdout.close()
        return status

    def __enter__(self) -> RunningCore:
        try:
            return self.wait_ready()
        except BaseException:
            self.stop()
            raise

    def __exit__(self, *_exc) -> None:
        self.stop()


def copy_model(source: Path, target: Path) -> Path:
    """A private copy, for tests that damage it."""
    shutil.copyfile(source, target)
    return target
