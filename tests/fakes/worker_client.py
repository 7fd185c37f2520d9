"""A synchronous client of a real worker process, for engine tests: no core in between."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

from homeai.domain.request import ChatPrompt, Prompt, Sampling, TextPrompt
from homeai.protocol.framing import FrameDecoder, encode
from homeai.protocol.messages import (
    Cancel,
    Done,
    FromWorker,
    Heartbeat,
    Hello,
    Load,
    LoadFailed,
    Loading,
    Prepare,
    Prepared,
    Ready,
    Refused,
    Started,
    Step,
    Stop,
    Submit,
)
from homeai.protocol.tokens import bytes_to_ids, ids_to_bytes

GREEDY = Sampling(temperature=0)


@dataclass
class Answer:
    """All that came for one ticket."""

    ids: list[int] = field(default_factory=list)
    text: str = ""
    indexes: list[int] = field(default_factory=list)
    pieces: list[tuple[int, str]] = field(default_factory=list)
    cached: int | None = None
    done: Done | None = None
    refused: Refused | None = None
    logprobs: list = field(default_factory=list)


class WorkerClient:
    """Starts a worker, loads a model, and collects answers by ticket."""

    def __init__(self, model: Path, **load) -> None:
        ours, theirs = socket.socketpair()
        environment = {**os.environ, "HOMEAI_WORKER_FD": str(theirs.fileno())}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "homeai.worker.main"],
            pass_fds=[theirs.fileno()],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )
        theirs.close()
        ours.settimeout(60)
        self._socket, self._decoder = ours, FrameDecoder(FromWorker)
        self._ticket = 0
        self.answers: dict[int, Answer] = {}
        self.heartbeats: list[Heartbeat] = []
        self.prepared: dict[int, Prepared | Refused] = {}
        self.ready: Ready | None = None
        self.load_failed: LoadFailed | None = None
        self.send(Load(path=str(model), **load))
        self.pump(lambda: self.ready or self.load_failed)

    def send(self, message) -> None:
        self._socket.sendall(encode(message))

    def pump(self, until) -> None:
        """Take messages in until `until()` is true."""
        while not until():
            data = self._socket.recv(65536)
            if not data:
                raise EOFError(f"worker ended: {self.process.wait(5)}")
            for message in self._decoder.feed(data):
                self._take(message)

    def _take(self, message) -> None:
        if isinstance(message, Ready):
            self.ready = message
        elif isinstance(message, LoadFailed):
            self.load_failed = message
        elif isinstance(message, Heartbeat):
            self.heartbeats.append(message)
        elif isinstance(message, Prepared):
            self.prepared[message.ticket] = message
        elif isinstance(message, Step):
            for piece in message.pieces:
                self._take_piece(piece)
        elif not isinstance(message, Hello | Loading):
            self._take_ticket(message)

    def _take_piece(self, piece) -> None:
        answer = self.answers.setdefault(piece.ticket, Answer())
        answer.ids += piece.ids
        answer.text += piece.text
        answer.pieces.append((piece.index, piece.text))
        answer.indexes += range(piece.index, piece.index + len(piece.ids))
        answer.logprobs += piece.logprobs or []

    def _take_ticket(self, message) -> None:
        answer = self.answers.setdefault(message.ticket, Answer())
        match message:
            case Started():
                answer.cached = message.cached_tokens
            case Done():
                answer.done = message
            case Refused():
                answer.refused = self.prepared[message.ticket] = message

    def ticket(self) -> int:
        self._ticket += 1
        return self._ticket

    def prepare(self, prompt: Prompt) -> Prepared | Refused:
        ticket = self.ticket()
        self.send(Prepare(ticket=ticket, prompt=prompt))
        self.pump(lambda: ticket in self.prepared)
        return self.prepared.pop(ticket)

    def ids(self, prompt: str | list) -> list[int]:
        """Token ids of a raw text, or of chat messages."""
        value = ChatPrompt(prompt) if isinstance(prompt, list) else TextPrompt(prompt)
        prepared = self.prepare(value)
        assert isinstance(prepared, Prepared), prepared
        return bytes_to_ids(prepared.prompt_ids)

    def submit(
        self, ids: list[int], *, client="anna", max_tokens=32, sampling=GREEDY, **more
    ) -> int:
        ticket = self.ticket()
        accepted = ids_to_bytes(more.pop("accepted", []))
        self.send(
            Submit(
                ticket=ticket,
                client=client,
                prompt_ids=ids_to_bytes(ids),
                max_tokens=max_tokens,
                sampling=sampling,
                accepted_ids=accepted,
                **more,
            )
        )
        self.answers[ticket] = Answer()
        return ticket

    def wait(self, *tickets: int) -> list[Answer]:
        self.pump(lambda: all(self.ended(t) for t in tickets))
        return [self.answers[t] for t in tickets]

    def ended(self, ticket: int) -> bool:
        answer = self.answers.get(ticket)
        return answer is not None and bool(answer.done or answer.refused)

    def generate(self, ids: list[int], **more) -> Answer:
        (answer,) = self.wait(self.submit(ids, **more))
        return answer

    def cancel(self, ticket: int) -> None:
        self.send(Cancel(ticket=ticket))

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self.send(Stop())
        self.process.wait(10)
        self.process.stderr.close()
        self._socket.close()
