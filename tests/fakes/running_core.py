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


class RunningCore:
    """Starts a core in a home of its own.

    Args:
        home: Becomes HOMEAI_HOME.
        model: Linked into the model folder; None = none.
        flags: `section.key=value`.
    """

    def __init__(
        self, home: Path, model: Path | None, *flags: str, name: str | None = None
    ) -> None:
        self.home = home
        folder = home / "data" / "models"
        folder.mkdir(parents=True, exist_ok=True)
        if model is not None:
            (folder / (name or model.name)).symlink_to(model)
        self.ready_file = home / "ready.json"
        command = [sys.executable, "-m", "homeai", "serve", "--port", "0"]
        command += ["--ready-file", str(self.ready_file)]
        for flag in ("memory.ram_reserve_min_mib=256", "memory.ram_reserve_percent=1", *flags):
            command += ["--set", flag]
        self.process = subprocess.Popen(
            command,
            env={**os.environ, "HOMEAI_HOME": str(home)},
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
        """Ask it to end; returns its exit status."""
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
