"""Runs servers against each other: one at a time, in interleaved pairs, under the same load."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from tests.bench import processes
from tests.bench.figures import problem_of
from tests.bench.prompts import Vocabulary, text_of
from tests.bench.records import Cell, LoadPlan, LoadResult
from tests.bench.servers import ROOT, Running, Server, ServerFailed, Settings, prioritise, running

_IDLE_S = 1.0
_SAMPLE_S = 0.5
_PREFIX_ANSWER_TOKENS = 4
_QUESTION_TOKENS = 20


@dataclass(frozen=True, slots=True)
class Workload:
    """What is asked of every server.

    Attributes:
        endpoint: `completions` | `chat`.
        prompt_tokens: Tokens of each prompt (of the user's message, in a chat).
        max_tokens: Tokens of each answer, exactly.
        requests: Requests one client sends one after the other.
        prefix_tokens: Tokens of the shared system prompt.
        most_foreign_cores: Above this the machine counts as busy.
        retakes: How often a pair is taken again because the machine was busy.
        quiet_wait_s: How long to wait for a quiet moment before a pair.
    """

    endpoint: str = "completions"
    prompt_tokens: int = 130
    max_tokens: int = 64
    requests: int = 3
    prefix_tokens: int = 500
    most_foreign_cores: float = 0.1
    retakes: int = 2
    quiet_wait_s: float = 60.0
    seed: int = 1


@dataclass
class Comparing:
    """Takes the cells.

    Attributes:
        settings: Makes the servers' settings for a number of slots.
        folder: Empty working folder; logs stay there.
        tell: Shows a line of progress.
    """

    servers: Sequence[Server]
    settings: Callable[[int], Settings]
    workload: Workload
    vocabulary: Vocabulary
    folder: Path
    tell: Callable[[str], None]
    cells: list[Cell] = field(default_factory=list)
    retaken: int = 0
    _turn: int = 0

    def throughput(self, clients: int, repetitions: int) -> None:
        """Measure all servers at a number of clients."""
        self._pairs("throughput", clients, repetitions, self._throughput_load)

    def shared_prefix(self, repetitions: int) -> None:
        """Measure what a repeated system prompt costs the second time."""
        self._pairs("shared-prefix", 2, repetitions, self._prefix_load)

    def beside_busy_program(self, clients: int, repetitions: int) -> None:
        """Measure all servers while another program keeps one core busy, one request a client."""
        self._pairs("busy", clients, repetitions, self._single_load)

    def _pairs(self, scenario: str, clients: int, repetitions: int, load: _Load) -> None:
        for repetition in range(repetitions):
            order = list(self.servers) if repetition % 2 == 0 else list(self.servers)[::-1]
            self.cells += self._quiet(order, scenario, clients, repetition, load)

    def _quiet(
        self, order: list[Server], scenario: str, clients: int, repetition: int, load: _Load
    ) -> list[Cell]:
        """Take cells that belong together, again while others compute; the quietest ones count."""
        limit = self.workload.most_foreign_cores
        best: list[Cell] = []
        for attempt in range(self.workload.retakes + 1):
            processes.wait_until_quiet(limit, self.workload.quiet_wait_s)
            taken = [self._safely(s, scenario, clients, repetition, load) for s in order]
            if not best or _busiest(taken) < _busiest(best):
                best = taken
            if _busiest(best) <= limit or attempt == self.workload.retakes:
                break
            self.retaken += 1
            self.tell(f"  others took {_busiest(taken):.2f} cores, taking the pair again")
        return best

    def _safely(
        self, server: Server, scenario: str, clients: int, repetition: int, load: _Load
    ) -> Cell:
        """Take a cell; a server that fails is a result, and the others go on."""
        try:
            return self._cell(server, scenario, clients, repetition, load)
        except (ServerFailed, LoadFailed) as failed:
            self.tell(f"  {scenario} {clients} clients, {server.name}: {failed}")
            return Cell(
                scenario=scenario,
                server=server.name,
                clients=clients,
                repetition=repetition,
                turn=self._turn - 1,
                requests=[],
                problem=str(failed),
            )

    def _cell(
        self, server: Server, scenario: str, clients: int, repetition: int, load: _Load
    ) -> Cell:
        folder = self.folder / f"{self._turn:03d}-{server.name}"
        turn, self._turn = self._turn, self._turn + 1
        with running(server, self.settings(clients), folder) as up:
            self._warm_up(up, clients)
            idle = processes.start_meter(up.pid)
            time.sleep(_IDLE_S)
            idle_s, _ = idle.stop()
            bodies, wanted_prompt, answer_tokens = load(clients, repetition)
            with _peak_memory(up.pid) as peak:
                meter = processes.start_meter(up.pid)
                with _busy_program() if scenario == "busy" else nullcontext():
                    result = self._send(up, bodies)
                server_s, foreign = meter.stop()
        requests = result.requests
        cell = Cell(
            scenario=scenario,
            server=server.name,
            clients=clients,
            repetition=repetition,
            turn=turn,
            requests=requests,
            ready_s=up.ready_s,
            idle_cores=idle_s / _IDLE_S,
            wall_s=max(r.end_s for r in requests) - min(r.start_s for r in requests),
            server_cpu_s=server_s,
            client_cpu_s=result.client_cpu_s,
            foreign_cores=foreign,
            peak_bytes=max(peak),
            memory_kind=processes.memory_kind(),
        )
        cell = msgspec.structs.replace(cell, problem=problem_of(cell, answer_tokens, wanted_prompt))
        self._show(cell)
        return cell

    def _show(self, cell: Cell) -> None:
        tokens = sum(r.completion_tokens for r in cell.requests)
        self.tell(
            f"  {cell.scenario} {cell.clients} clients, #{cell.repetition + 1} {cell.server}: "
            f"{tokens / cell.wall_s:.1f} tokens/s, {cell.peak_bytes / 2**20:.0f} MiB, "
            f"others {cell.foreign_cores:.2f} cores" + (f"; {cell.problem}" if cell.problem else "")
        )

    def _warm_up(self, up: Running, clients: int) -> None:
        """One short answer on every slot: first use pays page faults and graph building."""
        bodies = [[self._body(self._text(16, "warm", i), 4)] for i in range(clients)]
        self._send(up, bodies)

    def _throughput_load(self, clients: int, repetition: int) -> _Work:
        work = self.workload
        bodies = [
            [
                self._body(
                    self._text(work.prompt_tokens, clients, repetition, client, index),
                    work.max_tokens,
                )
                for index in range(work.requests)
            ]
            for client in range(clients)
        ]
        exact = work.prompt_tokens if work.endpoint == "completions" else None
        return bodies, exact, work.max_tokens

    def _single_load(self, clients: int, repetition: int) -> _Work:
        bodies, exact, answer_tokens = self._throughput_load(clients, repetition)
        return [mine[:1] for mine in bodies], exact, answer_tokens

    def _prefix_load(self, clients: int, repetition: int) -> _Work:
        """Two requests of one client with the same system prompt and different questions."""
        del clients
        work = self.workload
        system = self._text(work.prefix_tokens, "system", repetition)
        bodies = []
        for index in range(2):
            question = self._text(_QUESTION_TOKENS, "question", repetition, index)
            if work.endpoint == "chat":
                bodies.append(self._body(question, _PREFIX_ANSWER_TOKENS, system=system))
            else:
                bodies.append(self._body(system + question, _PREFIX_ANSWER_TOKENS))
        return [bodies], None, _PREFIX_ANSWER_TOKENS

    def _text(self, tokens: int, *what: object) -> str:
        return text_of(self.vocabulary, tokens, f"{self.workload.seed} {what}")

    def _body(self, text: str, max_tokens: int, system: str | None = None) -> dict[str, Any]:
        body: dict[str, Any] = {
            "stream": True,
            "stream_options": {"include_usage": True},
            "temperature": 0,
            "max_tokens": max_tokens,
            # nothing ends an answer early, so all servers do the same work
            "logit_bias": {str(token): -100 for token in self.vocabulary.end_ids},
        }
        if self.workload.endpoint == "completions":
            return {"prompt": text, **body}
        messages = [{"role": "system", "content": system}] if system else []
        return {"messages": [*messages, {"role": "user", "content": text}], **body}

    def _send(self, up: Running, bodies: list[list[dict[str, Any]]]) -> LoadResult:
        path = (
            "/v1/completions" if self.workload.endpoint == "completions" else "/v1/chat/completions"
        )
        plan = LoadPlan(host="127.0.0.1", port=up.port, path=path, clients=bodies)
        return send(plan, self.settings(1).niceness)


_Work = tuple[list[list[dict[str, Any]]], int | None, int]
"""Request bodies of each client, tokens of each prompt (None = any), tokens of each answer."""
_Load = Callable[[int, int], _Work]


def _busiest(cells: list[Cell]) -> float:
    return max(cell.foreign_cores for cell in cells)


class LoadFailed(RuntimeError):
    """The load client could not do its plan; the message is its own."""


def send(plan: LoadPlan, niceness: int = 0) -> LoadResult:
    """Run the load client in a process of its own.

    Raises:
        LoadFailed: It did not come to an end.
    """
    with subprocess.Popen(
        [sys.executable, "-m", "tests.bench.load"],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    ) as client:
        prioritise(client.pid, niceness)
        answer, problem = client.communicate(msgspec.json.encode(plan))
    if client.returncode != 0:
        raise LoadFailed(problem.decode("utf-8", "replace")[-1000:])
    return msgspec.json.decode(answer, type=LoadResult)


@contextmanager
def _busy_program() -> Iterator[None]:
    """Another program that computes on one core until the end of the block."""
    program = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        yield
    finally:
        program.kill()
        program.wait()


@contextmanager
def _peak_memory(pid: int) -> Iterator[list[int]]:
    """Sample a tree's memory until the end of the block; yields the list of samples."""
    samples: list[int] = []
    end = threading.Event()

    def sample() -> None:
        while not end.wait(_SAMPLE_S):
            samples.append(processes.memory_bytes(pid))

    thread = threading.Thread(target=sample)
    thread.start()
    try:
        yield samples
    finally:
        end.set()
        thread.join()
        samples.append(processes.memory_bytes(pid))
