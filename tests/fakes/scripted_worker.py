"""A real process that speaks the worker protocol from a script, to misbehave on cue.

The script is JSON in argv[1]: {"ready": {...}, "mode": "...", "tokens": n, "deadly_stop": "..."}. A
request with that stop string ends it by SIGABRT. Modes: answer, crash (by SIGABRT after the first
token), crash_at_once, hang (takes requests and does nothing), bad_model, garbage, old_protocol,
deaf (ignores SIGTERM and Stop), repeat (sends its first token twice).
"""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
import threading
import time

from homeai.protocol.framing import FrameDecoder, encode
from homeai.protocol.messages import (
    PROTOCOL_VERSION,
    Arm,
    Cancel,
    Disarm,
    Done,
    Heartbeat,
    Hello,
    Load,
    LoadFailed,
    Piece,
    Prepare,
    Prepared,
    Ready,
    StandingBy,
    Started,
    Step,
    Stop,
    Submit,
    ToWorker,
)
from homeai.protocol.tokens import ids_to_bytes


class Script:
    """One life of the worker."""

    def __init__(self, connection: socket.socket, script: dict) -> None:
        self._socket, self._script = connection, script
        self._mode = script.get("mode", "answer")
        self._held: set[int] = set()
        self._lock = threading.Lock()

    def send(self, *messages) -> None:
        with self._lock:
            self._socket.sendall(b"".join(map(encode, messages)))

    def run(self) -> int:
        if self._mode == "deaf":
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
        self.send(
            Hello(pid=os.getpid(), protocol=0 if self._mode == "old_protocol" else PROTOCOL_VERSION)
        )
        decoder = FrameDecoder(ToWorker)
        while data := self._socket.recv(65536):
            for message in decoder.feed(data):
                status = self._take(message)
                if status is not None:
                    return status
        if self._mode == "deaf":
            time.sleep(600)
        return 0

    def _take(self, message) -> int | None:
        match message:
            case Load():
                return self._load(standby=message.standby)
            case Prepare():
                ids = ids_to_bytes(range(1, 6))
                self.send(Prepared(ticket=message.ticket, prompt_ids=ids))
            case Submit():
                if message.prompt is not None:
                    ids = ids_to_bytes(range(1, 6))
                    self.send(Prepared(ticket=message.ticket, prompt_ids=ids))
                self._submit(message)
            case Arm():
                self._ready()
            case Disarm():
                self.send(StandingBy())
            case Cancel():
                self._held.discard(message.ticket)
                self.send(self._done(message.ticket, "cancelled", 0))
            case Stop() if self._mode != "deaf":
                return 0
        return None

    def _load(self, *, standby: bool) -> int | None:
        if self._mode == "bad_model":
            self.send(LoadFailed(code="model_invalid", message="The file is bad.", stage="load"))
            return 1
        if standby:
            self.send(StandingBy())
        else:
            self._ready()
        threading.Thread(target=self._beat, daemon=True).start()
        return None

    def _ready(self) -> None:
        ready = {"context_tokens": 100, "train_context_tokens": 100, "sequences": 2, "vocab": 10}
        self.send(Ready(**{**ready, **self._script.get("ready", {})}))

    def _beat(self) -> None:
        while True:
            time.sleep(0.05)
            try:
                self.send(Heartbeat(steps=1, in_flight=len(self._held)))
            except OSError:
                return

    def _submit(self, order: Submit) -> None:
        ticket = order.ticket
        if self._mode == "crash_at_once" or self._script.get("deadly_stop") in order.stop:
            os.abort()
        self.send(Started(ticket=ticket, cached_tokens=0))
        if self._mode in ("hang", "hold"):
            self._held.add(ticket)
            return
        begin = len(order.accepted_ids) // 4
        first = Step(pieces=[Piece(ticket, begin, [7], "a")])
        self.send(first)
        if self._mode == "crash":
            os.abort()
        if self._mode == "garbage":
            self._socket.sendall(b"\xff" * 64)
            return
        if self._mode == "repeat":
            self.send(first)
        count = min(order.max_tokens or 95, self._script.get("tokens", 3))
        for index in range(begin + 1, count):
            self.send(Step(pieces=[Piece(ticket, index, [7], "a")]))
        self.send(self._done(ticket, "stop", count))

    @staticmethod
    def _done(ticket: int, reason: str, count: int) -> Done:
        return Done(
            ticket=ticket,
            reason=reason,
            prompt_tokens=5,
            completion_tokens=count,
            cached_tokens=0,
            prefill_s=0.0,
            decode_s=0.0,
        )


if __name__ == "__main__":
    fd = int(os.environ["HOMEAI_WORKER_FD"])
    sys.exit(Script(socket.socket(fileno=fd), json.loads(sys.argv[1])).run())
