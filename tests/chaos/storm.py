"""A seeded storm: clients of all kinds, faults of all kinds on both workers, and the account afterwards.

    python -m tests.chaos.storm --seconds 600 --seed 1 --model MODEL

Every request must end once: complete and equal to the undisturbed answer, or with a typed error after a
true prefix of it, or cancelled by its own client.
"""

from __future__ import annotations

import argparse
import contextlib
import http.client
import json
import os
import random
import signal
import sqlite3
import sys
import tempfile
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from homeai.proof.device.build import build
from homeai.proof.device.control import SimulatedGpu
from tests.chaos.tools import FORCED, RUN, NoteAccount, call_of
from tests.fakes.running_core import RunningCore

CLIENTS = 8
FAULTS = ("status_alloc", "status_failed", "abort", "segv", "kill", "exit", "hang")
ALLOWED_ERRORS = {
    "worker_failed",
    "poison_request",
    "queue_full",
    "latency_exceeds_deadline",
    "circuit_open",
    "gpu_only",
    "ram_insufficient",
    "cancelled",
    "effect_committed",
}
KINDS = ("stream", "stream", "stream", "plain", "cancel", "slow", "tools", "agent")
_PATHS = {"tools": ("/v1/chat/completions", FORCED), "agent": ("/homeai/v1/agent", RUN)}
ASKS = [
    {"prompt": "Once upon a time", "temperature": 0, "max_tokens": 24},
    {"prompt": "The old captain said", "temperature": 0.9, "seed": 3, "max_tokens": 16},
    {"prompt": "Grüße aus Köln! 🙂", "temperature": 0.7, "seed": 5, "max_tokens": 12},
    {"prompt": "Numbers:", "temperature": 0.8, "seed": 9, "max_tokens": 20, "repeat_penalty": 1.2},
    {"prompt": "A list of animals: cat,", "temperature": 0, "max_tokens": 20, "stop": [", "]},
]


@dataclass
class Account:
    """What became of all requests."""

    outcomes: Counter = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    faults: int = 0
    models_ms: list[float] = field(default_factory=list)
    rss: list[int] = field(default_factory=list)

    @property
    def total(self) -> int:
        return sum(self.outcomes.values())


class Storm:
    """One storm over one core."""

    def __init__(self, core: RunningCore, gpu: SimulatedGpu, seed: int) -> None:
        self.core, self.gpu, self.seed = core, gpu, seed
        self.account, self._lock, self._over = Account(), threading.Lock(), threading.Event()
        self.references = [core.request("POST", "/v1/completions", ask)[2] for ask in ASKS]
        self.texts = [body["choices"][0]["text"] for body in self.references]
        self.call = call_of(core.request("POST", "/v1/chat/completions", FORCED)[2])
        self.notes = NoteAccount(core.home / "data" / "notes" / "local.txt")

    def rage(self, seconds: float) -> Account:
        """Run for so long, then let everything come to rest."""
        jobs = [(self._client, n) for n in range(CLIENTS)] + [(self._faults, 99), (self._watch, 98)]
        threads = [
            threading.Thread(target=job, args=(random.Random(self.seed * 1000 + n),))
            for job, n in jobs
        ]
        for thread in threads:
            thread.start()
        self._over.wait(seconds)
        self._over.set()
        for thread in threads:
            thread.join(180)
            if thread.is_alive():
                self.account.wrong.append("a client is still waiting: its request has no end")
        self.gpu.heal()
        self.core.wait_status(lambda s: s["state"] == "ready", timeout=90)
        return self.account

    # ---- clients ----------------------------------------------------------------------------------

    def _client(self, chance: random.Random) -> None:
        number = 0
        while not self._over.is_set():
            number += 1
            index = chance.randrange(len(ASKS))
            kind = chance.choice(KINDS)
            name = f"storm-{chance.randrange(10**9)}-{number}"
            try:
                outcome = self._ask(chance, name, index, kind)
            except (OSError, http.client.HTTPException, ValueError) as error:
                outcome = f"lost: {type(error).__name__}"
                self._wrong(f"{name} {kind}: {error!r}")
            with self._lock:
                self.account.outcomes[outcome] += 1

    def _ask(self, chance: random.Random, name: str, index: int, kind: str) -> str:
        if kind in ("tools", "agent"):
            return self._with_tools(name, kind)
        # a stop string of its own keeps a request that met two kills from being taken for the next one
        body = ASKS[index] | {"stop": [*ASKS[index].get("stop", ()), f"<{name}>"]}
        body |= {} if kind == "plain" else {"stream": True}
        connection = http.client.HTTPConnection("127.0.0.1", self.core.port, timeout=150)
        headers = {"Content-Type": "application/json", "X-Request-Id": name}
        try:
            connection.request("POST", "/v1/completions", json.dumps(body), headers)
            if kind == "cancel":
                self._over.wait(chance.random() * 0.5)
                return "cancelled by its client"
            response = connection.getresponse()
            if response.headers["content-type"].startswith("application/json"):
                return self._whole(name, index, json.loads(response.read()))
            return self._stream(name, index, response, slow=kind == "slow")
        finally:
            connection.close()

    def _with_tools(self, name: str, kind: str) -> str:
        path, ask = _PATHS[kind]
        headers = {"X-Request-Id": name}
        _, _, body = self.core.request(
            "POST", path, ask | {"stop": [f"<{name}>"]}, headers, timeout=150
        )
        if "error" in body:
            if kind == "agent":
                self.notes.failed(body["error"])
            return self._error(name, body["error"])
        if kind == "agent":
            self.notes.finished(name, body)
            return "agent run complete"
        if call_of(body) != self.call:
            self._wrong(f"{name}: another call than undisturbed")
        return f"call {self._complete(body['homeai'])}"

    def _whole(self, name: str, index: int, body: dict) -> str:
        if "error" in body:
            return self._error(name, body["error"])
        if body["choices"][0]["text"] != self.texts[index]:
            self._wrong(f"{name}: another text than undisturbed")
        return self._complete(body["homeai"])

    def _stream(self, name: str, index: int, response, *, slow: bool) -> str:
        text, error, done, facts = "", None, False, None
        for raw in response:
            line = raw.decode().rstrip("\n")
            if line == "data: [DONE]":
                done = True
            elif line.startswith("data: "):
                chunk = json.loads(line[6:])
                error, facts = chunk.get("error"), chunk.get("homeai") or facts
                text += "".join(c.get("text") or "" for c in chunk.get("choices", ()))
                if slow:
                    self._over.wait(0.02)
        if not self.texts[index].startswith(text):
            self._wrong(f"{name}: no prefix of the undisturbed text: {text!r}")
        if error is not None:
            return self._error(name, error)
        if not done or text != self.texts[index]:
            self._wrong(f"{name}: ended without its end")
            return "cut"
        return self._complete(facts)

    def _complete(self, facts: dict) -> str:
        devices = "+".join(attempt["device"] for attempt in facts["attempts"])
        return f"complete on {devices}"

    def _error(self, name: str, error: dict) -> str:
        if error["code"] not in ALLOWED_ERRORS:
            self._wrong(f"{name}: {error}")
        return f"error {error['code']}"

    def _wrong(self, what: str) -> None:
        with self._lock:
            self.account.wrong.append(what)

    # ---- faults -----------------------------------------------------------------------------------

    def _faults(self, chance: random.Random) -> None:
        while not self._over.wait(chance.uniform(0.3, 2.0)):
            self.account.faults += 1
            if chance.random() < 0.7:
                self.gpu.fault(chance.choice(FAULTS), after_graphs=chance.randint(1, 30))
            else:
                self._kill(chance)

    def _kill(self, chance: random.Random) -> None:
        number = chance.choice((signal.SIGKILL, signal.SIGSEGV, signal.SIGABRT, signal.SIGTERM))
        worker = chance.choice(self.core.status()["workers"])
        if worker["pid"] is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(worker["pid"], number)

    def _watch(self, _chance: random.Random) -> None:
        process = psutil.Process(self.core.process.pid)
        while not self._over.wait(0.5):
            began = time.perf_counter()
            self.core.request("GET", "/v1/models")
            self.account.models_ms.append(1000 * (time.perf_counter() - began))
            self.account.rss.append(process.memory_info().rss)

    # ---- the account ------------------------------------------------------------------------------

    def settle(self) -> list[str]:
        """Look at core, processes and files at rest; returns what is wrong."""
        wrong = [*self.account.wrong, *self.notes.problems()]
        queue = self.core.status()["queue"]
        if queue["running"] or queue["waiting"]:
            wrong.append(f"requests are left over: {queue}")
        children = psutil.Process(self.core.process.pid).children(recursive=True)
        if len(children) > 2:
            wrong.append(f"{len(children)} worker processes, there should be at most two")
        return wrong


def journal_problems(path: Path) -> list[str]:
    """What the journal of a stopped core should not hold."""
    with contextlib.closing(sqlite3.connect(path)) as db:
        wrong = []
        (left,) = db.execute("SELECT count(*) FROM requests WHERE state IS NULL").fetchone()
        if left:
            wrong.append(f"{left} requests have no end in the journal")
        (many,) = db.execute(
            "SELECT count(*) FROM (SELECT 1 FROM attempts GROUP BY request HAVING count(*) > 2)"
        ).fetchone()
        if many:
            wrong.append(f"{many} requests had more than two attempts")
        (twice,) = db.execute(
            "SELECT count(*) FROM (SELECT 1 FROM requests GROUP BY id HAVING count(*) > 1)"
        ).fetchone()
        if twice:
            wrong.append(f"{twice} ids were taken twice")
        return wrong


def run(
    folder: Path, plugin: Path, model: Path, seconds: float, seed: int
) -> tuple[Account, list[str]]:
    """Start a core, let the storm rage over it, stop it; returns the account and what is wrong."""
    (folder / "device").mkdir(parents=True)
    gpu = SimulatedGpu(folder / "device")
    flags = (
        f"gpu.backends={plugin}",
        "limits.context_tokens=512",
        "fallback.context_tokens=512",
        "fallback.concurrency=2",
        "limits.queue_per_client=32",
        "engine.profile=exact",
        "recovery.window_s=1",
        "recovery.max_restarts=50",
        "recovery.stall_s=2",
    )
    with RunningCore(folder / "home", model, *flags, environment=gpu.environment()) as core:
        core.wait_status(lambda s: s["state"] == "ready" and s["fallback"]["armed"], timeout=90)
        storm = Storm(core, gpu, seed)
        account = storm.rage(seconds)
        wrong = storm.settle()
    return account, wrong + journal_problems(folder / "home" / "data" / "journal.db")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--model", type=Path, default=os.environ.get("HOMEAI_TEST_MODEL"))
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="homeai-storm-") as name:
        folder = Path(name)
        plugin = build(folder / "plugin")
        account, wrong = run(folder / "core", plugin, options.model, options.seconds, options.seed)
    for outcome, count in account.outcomes.most_common():
        print(f"{count:6} {outcome}")
    rss = account.rss
    warm, last = rss[len(rss) // 4], rss[-1]
    touched = sum(n for what, n in account.outcomes.items() if "+" in what or "error" in what)
    print(f"{account.total} requests, {account.faults} faults, {len(wrong)} wrong")
    print(f"{touched} requests of clients that stayed met a fault")
    print(f"GET /v1/models: slowest {max(account.models_ms):.0f} ms of {len(account.models_ms)}")
    print(f"core RSS after warm-up {warm / 2**20:.1f} MiB, at the end {last / 2**20:.1f} MiB")
    for what in wrong[:20]:
        print("WRONG:", what)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
