"""The servers that are compared: how each is started with the same settings, and stopped."""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from homeai.worker import threads

READY_TIMEOUT_S = 120.0
_POLL_S = 0.005
ROOT = Path(__file__).resolve().parents[2]


class ServerFailed(RuntimeError):
    """A server did not start; the message holds the end of its log."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What all servers are given alike.

    Attributes:
        model: The GGUF file.
        slots: Sequences decoded in parallel.
        context_tokens: Tokens that each of them may hold.
        threads: Threads of the computation; None = what homeai chooses by itself.
        niceness: Priority of the server's processes; below 0 shields them from other programs.
        kv_type: Type of the KV cache.
    """

    model: Path
    slots: int
    context_tokens: int
    threads: int | None = None
    niceness: int = 0
    kv_type: str = "f16"

    @property
    def decode_threads(self) -> int:
        """Threads of a decode call with one token, chosen as homeai does."""
        return threads.decode_threads(self.threads or 0, threads.usable_cores())

    @property
    def batch_threads(self) -> int:
        """Threads of a call with more than one token, chosen as homeai does."""
        return threads.batch_threads(self.threads or 0, threads.usable_cores())


@dataclass(frozen=True, slots=True)
class Launch:
    """How to start a server.

    Attributes:
        port: Where it listens; 0 = `ready_file` tells.
        ready_file: Written by the server with its address in it; None = `port` is known.
        ready_path: Answers 200 once a request can be served.
    """

    argv: list[str]
    port: int
    environment: dict[str, str] = field(default_factory=dict)
    ready_file: Path | None = None
    ready_path: str = "/health"


class Server(Protocol):
    """A kind of server."""

    @property
    def name(self) -> str:
        """Name in the tables."""
        ...

    def launch(self, settings: Settings, folder: Path) -> Launch:
        """Return how to start it; `folder` is empty and its own."""
        ...


@dataclass(frozen=True, slots=True)
class LlamaServer:
    """The native server of llama.cpp.

    Attributes:
        extra: Further arguments, placed last so that they win.
    """

    binary: Path
    name: str = "llama-server"
    extra: tuple[str, ...] = ()

    def launch(self, settings: Settings, folder: Path) -> Launch:
        del folder
        port = free_port()
        argv = [str(self.binary), "--model", str(settings.model)]
        argv += ["--host", "127.0.0.1", "--port", str(port), "--no-ui", "--offline"]
        argv += ["--parallel", str(settings.slots)]
        argv += ["--ctx-size", str(settings.context_tokens * settings.slots), "--no-kv-unified"]
        argv += ["--threads", str(settings.decode_threads)]
        argv += ["--threads-batch", str(settings.batch_threads)]
        argv += ["--flash-attn", "on", "--device", "none"]
        argv += ["--cache-type-k", settings.kv_type, "--cache-type-v", settings.kv_type]
        # its store of old prompts in RAM has no counterpart here; without it, it is faster and smaller
        argv += ["--cache-ram", "0"]
        return Launch([*argv, *self.extra], port)


@dataclass(frozen=True, slots=True)
class LlamaCppServer:
    """`llama_cpp.server`, the server that comes with llama-cpp-python: one sequence, one lock."""

    python: Path
    name: str = "llama_cpp.server"

    def launch(self, settings: Settings, folder: Path) -> Launch:
        del folder
        port = free_port()
        argv = [str(self.python), "-m", "llama_cpp.server", "--model", str(settings.model)]
        argv += ["--host", "127.0.0.1", "--port", str(port)]
        argv += ["--n_ctx", str(settings.context_tokens)]
        argv += ["--n_threads", str(settings.decode_threads)]
        argv += ["--n_threads_batch", str(settings.batch_threads)]
        argv += ["--flash_attn", "true", "--n_gpu_layers", "0"]
        # by default a new request ends the running answer; nothing could be compared then
        argv += ["--interrupt_requests", "false"]
        return Launch(argv, port, ready_path="/v1/models")


@dataclass(frozen=True, slots=True)
class HomeAI:
    """The product as a whole: `homeai serve` with its worker process.

    Attributes:
        extra: Further arguments, placed last so that they win.
        with_model: False = the core alone; it is ready when its door is open.
    """

    python: Path = Path(sys.executable)
    name: str = "homeai"
    extra: tuple[str, ...] = ()
    with_model: bool = True

    def launch(self, settings: Settings, folder: Path) -> Launch:
        ready = folder / "ready.json"
        argv = [
            str(self.python),
            "-m",
            "homeai",
            "serve",
            "--port",
            "0",
            "--ready-file",
            str(ready),
        ]
        wanted = {
            "limits.context_tokens": settings.context_tokens,
            "limits.concurrency": settings.slots,
            "limits.queue_per_client": max(8, settings.slots),
            "memory.kv_type": settings.kv_type,
        }
        if settings.threads is not None:
            wanted["fallback.threads"] = settings.threads
        for key, value in wanted.items():
            argv += ["--set", f"{key}={value}"]
        if self.with_model:
            argv += ["--model", str(settings.model)]
        home = {"HOMEAI_HOME": str(folder / "home")}
        path = "/ready" if self.with_model else "/live"
        return Launch([*argv, *self.extra], 0, home, ready_file=ready, ready_path=path)


def prioritise(pid: int, niceness: int) -> None:
    """Give a process that leads its own session a priority.

    Linux may share the processors out by session first; then only the session's own value counts.

    Raises:
        PermissionError: A priority above the usual one needs root.
    """
    if not niceness:
        return
    os.setpriority(os.PRIO_PROCESS, pid, niceness)
    group = Path(f"/proc/{pid}/autogroup")
    if group.exists():
        group.write_text(str(niceness), "utf-8")


def free_port() -> int:
    """Return a loopback port that was free a moment ago."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@dataclass(frozen=True, slots=True)
class Running:
    """A started server."""

    pid: int
    port: int
    ready_s: float


@contextmanager
def running(server: Server, settings: Settings, folder: Path) -> Iterator[Running]:
    """Start a server, wait until it is ready, and stop it with all its children.

    Raises:
        ServerFailed: It ended, or was not ready within `READY_TIMEOUT_S`.
    """
    folder.mkdir(parents=True)
    launch = server.launch(settings, folder)
    log_path = folder / "server.log"
    started = time.perf_counter()
    with log_path.open("wb") as log:
        process = subprocess.Popen(
            launch.argv,
            cwd=ROOT,
            env={**os.environ, **launch.environment},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # so that its children can be ended with it
        )
        try:
            prioritise(process.pid, settings.niceness)
            port = _wait_ready(server.name, process, launch, log_path)
            yield Running(process.pid, port, time.perf_counter() - started)
        finally:
            stop(process)


def stop(process: subprocess.Popen[bytes]) -> None:
    """End a process politely, then its whole session by force."""
    process.terminate()
    try:
        process.wait(15)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait(5)
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        return


def _wait_ready(name: str, process: subprocess.Popen[bytes], launch: Launch, log_path: Path) -> int:
    end = time.monotonic() + READY_TIMEOUT_S
    while time.monotonic() < end:
        if process.poll() is not None:
            msg = f"{name} ended with status {process.returncode}:\n{_end_of(log_path)}"
            raise ServerFailed(msg)
        port = _ready_port(launch)
        if port is not None:
            return port
        time.sleep(_POLL_S)
    msg = f"{name} was not ready after {READY_TIMEOUT_S:.0f} s:\n{_end_of(log_path)}"
    raise ServerFailed(msg)


def _ready_port(launch: Launch) -> int | None:
    """The port, once the server can answer a request."""
    port = launch.port
    if launch.ready_file is not None:
        try:
            url = str(json.loads(launch.ready_file.read_text("utf-8"))["url"])
        except (FileNotFoundError, json.JSONDecodeError):  # not there, or not wholly written yet
            return None
        port = int(url.rstrip("/").rpartition(":")[2])
    try:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
        connection.request("GET", launch.ready_path)
        ready = connection.getresponse().status == http.HTTPStatus.OK
        connection.close()
    except (OSError, http.client.HTTPException):
        return None
    return port if ready else None


def _end_of(log_path: Path, characters: int = 2000) -> str:
    return log_path.read_text("utf-8", "replace")[-characters:]
