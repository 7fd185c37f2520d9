"""Raw data of a benchmark: what was asked for, and what was seen. All of it goes into the JSON file.

Times are seconds. Times of one load run count from its first request.
"""

from __future__ import annotations

from typing import Any

import msgspec


class LoadPlan(msgspec.Struct, frozen=True, kw_only=True):
    """What the load client is to do.

    Attributes:
        path: HTTP path, such as `/v1/completions`.
        clients: For each client the request bodies, sent one after the other.
        timeout_s: Most seconds for the whole run.
        headers: Extra request headers.
    """

    host: str
    port: int
    path: str
    clients: list[list[dict[str, Any]]]
    timeout_s: float = 600.0
    headers: dict[str, str] = {}


class RequestResult(msgspec.Struct, frozen=True, kw_only=True):
    """One request as the client saw it.

    Attributes:
        status: HTTP status; 0 = the connection broke before an answer.
        start_s: Just before the request was written; the connection was open.
        end_s: Last byte of the answer.
        text_times_s: Arrival of every event that brought text; the first one is the first token.
        prompt_tokens: From the server's usage report; None = not reported.
        completion_tokens: From the usage report, else the number of text events.
        usage_reported: Whether `completion_tokens` is the server's own count.
        complete: Whether the stream ended the way the API says (`[DONE]`).
        text: The answer.
        error: What went wrong, in one sentence; None = nothing.
    """

    client: int
    index: int
    status: int
    start_s: float
    end_s: float
    text_times_s: list[float] = []
    prompt_tokens: int | None = None
    completion_tokens: int = 0
    usage_reported: bool = False
    complete: bool = False
    text: str = ""
    error: str | None = None


class LoadResult(msgspec.Struct, frozen=True, kw_only=True):
    """All requests of a load run, and what the client itself cost."""

    requests: list[RequestResult]
    client_cpu_s: float


class Cell(msgspec.Struct, frozen=True, kw_only=True):
    """One measurement: one freshly started server, one number of clients, one repetition.

    Attributes:
        server: Name of the server in the table.
        turn: Place in the run, from 0; a pair has neighbouring turns.
        ready_s: Process start to the first healthy answer.
        idle_cores: Cores that the started, idle server used.
        wall_s: First request written to last answer complete.
        server_cpu_s: CPU time of the server's processes during `wall_s`.
        foreign_cores: Cores that other programs and the hypervisor took during `wall_s`.
        peak_bytes: Largest PSS of the server's processes together (`memory_kind` says which figure).
        problem: Why the cell cannot be used; None = it can.
    """

    scenario: str
    server: str
    clients: int
    repetition: int
    turn: int
    requests: list[RequestResult]
    ready_s: float = 0.0
    idle_cores: float = 0.0
    wall_s: float = 0.0
    server_cpu_s: float = 0.0
    client_cpu_s: float = 0.0
    foreign_cores: float = 0.0
    peak_bytes: int = 0
    memory_kind: str = "pss"
    problem: str | None = None


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """The JSON file.

    Attributes:
        machine: Processor, cores, memory, system.
        versions: Of everything that takes part.
        settings: Workload and server settings, equal for all servers.
        commands: Command line of each server, the model and port shown as placeholders.
        reference: The server that the others are divided by.
        not_measured: Server name to the reason why it is missing.
        retaken: Cells thrown away because the machine was busy.
    """

    machine: dict[str, Any]
    versions: dict[str, str]
    settings: dict[str, Any]
    commands: dict[str, str]
    reference: str
    cells: list[Cell]
    not_measured: dict[str, str] = {}
    retaken: int = 0
