"""A core in this process that answers as it is told: for tests of the HTTP doors."""

import asyncio
import contextlib
import time
from collections import deque
from dataclasses import dataclass, field

from homeai.agent.effects import EffectDoor
from homeai.agent.loop import Agent
from homeai.agent.tool import Toolbox
from homeai.domain.errors import BadRequest, Cancelled
from homeai.domain.snapshot import (
    FallbackSnapshot,
    ModelSnapshot,
    QueueSnapshot,
    RamSnapshot,
    Snapshot,
)
from homeai.domain.stream import Delta, Failed, Finished, FinishReason, Started, Usage
from homeai.server.addresses import own_names
from homeai.server.app import create_app
from homeai.server.hosts import HostRules
from homeai.server.listener import Listener, bind
from homeai.settings.schema import Settings

TOKEN = b"token-of-this-user"
PHONE = b"hai_phone"
MODEL = "tiny-model"


@dataclass(frozen=True)
class Card:
    name: str = MODEL
    created: int = 1_700_000_000


class ScriptedGeneration:
    """Yields what the test pushes."""

    def __init__(self, request):
        self.request, self.request_id = request, request.id
        prompt = request.prompt
        self.prompt_text = getattr(prompt, "text", None)
        self.cancelled = asyncio.Event()
        self.read = 0
        self._events, self._news, self._ended = deque(), asyncio.Event(), False

    def push(self, *events):
        self._events.extend(events)
        self._news.set()

    async def next_events(self, timeout_s=None):
        if not self._events:
            if self._ended:
                raise RuntimeError("the last event of this request was read already")
            self._news.clear()
            try:
                async with asyncio.timeout(timeout_s):
                    await self._news.wait()
            except TimeoutError:
                return []
        events = list(self._events)
        self._events.clear()
        self.read += len(events)
        self._ended = self._ended or any(isinstance(event, Failed) for event in events)
        return events

    def cancel(self):
        if not self.cancelled.is_set() and not self._ended:
            self.cancelled.set()
            self.push(Failed(Cancelled("The client went away.")))


class ScriptedEvents:
    """Numbered events that the test appends."""

    def __init__(self):
        self.kept, self.news, self.followers = [], asyncio.Event(), 0

    def append(self, event):
        self.kept.append((len(self.kept) + 1, event))
        self.news.set()
        self.news = asyncio.Event()

    async def follow(self, after):
        last = len(self.kept) if after is None else after
        self.followers += 1
        try:
            while True:
                news = self.news
                for number, event in list(self.kept):
                    if number > last:
                        last = number
                        yield number, event
                await news.wait()
        finally:
            self.followers -= 1


class ScriptedFigures:
    """One figure, and what was asked for."""

    def text(self, accept):
        return "text/plain; version=0.0.4", f"# asked for {accept}\nhomeai_info 1.0\n".encode()


def answer(*texts, prompt_tokens=3, reason=FinishReason.STOP, choice=0, cached=0):
    """Events of one choice."""
    return [
        Started(choice, "cpu", "cpu", 1, prompt_tokens),
        *(Delta(choice, text, 1) for text in texts),
        finished(choice, len(texts), prompt_tokens, reason, cached),
    ]


def finished(choice=0, tokens=1, prompt_tokens=3, reason=FinishReason.STOP, cached=0):
    facts = {
        "device": "cpu",
        "degraded": False,
        "reason": None,
        "attempts": [{"n": 1, "worker": "cpu", "device": "cpu", "tokens": tokens}],
        "actual_ms": 5,
        "provenance": {"seed": 7},
    }
    return Finished(choice, reason, Usage(prompt_tokens, tokens, cached), facts)


@dataclass
class ScriptedCore:
    """Answers each request with `script(request)`, a list of events; an empty one leaves it open."""

    settings: Settings = field(default_factory=Settings)
    script: object = lambda request: [
        event for choice in range(request.n) for event in answer("Hello", " there", choice=choice)
    ]
    vectors: object = lambda request: ([[1.0, 0.5]] * len(request.inputs), 4)
    state: str = "ready"
    tools: list = field(default_factory=list)
    book: object = None
    steps: object = lambda action, step: None

    def __post_init__(self):
        self.agent = Agent(
            self.submit, Toolbox(self.tools), EffectDoor(self.book, self.steps), time.monotonic
        )
        self.events, self.metrics = ScriptedEvents(), ScriptedFigures()
        self.generations: list[ScriptedGeneration] = []
        self.arrived = asyncio.Event()
        self.choices, self.kept, self.mode = [], {}, "auto"
        self.embedding_cancelled = asyncio.Event()

    def submit(self, request):
        generation = ScriptedGeneration(request)
        self.generations.append(generation)
        generation.push(*self.script(request))
        self.arrived.set()
        return generation

    async def embed(self, request):
        self.arrived.set()
        try:
            outcome = self.vectors(request)
            return await outcome if asyncio.iscoroutine(outcome) else outcome
        except asyncio.CancelledError:
            self.embedding_cancelled.set()
            raise

    async def estimate(self, request):
        return {"prompt_tokens": 3, "estimate_ms": {"cpu": {"p50": 10, "p90": 20}}}

    def choose(self, request_id, choice):
        self.choices.append((request_id, choice))
        return choice != "wait_gpu"

    def set_mode(self, mode):
        if mode not in ("auto", "cpu"):
            raise BadRequest(f"mode: {mode!r}", param="mode")
        self.mode = mode

    async def keep_answer(self, answer):
        self.kept[answer.client, answer.key] = answer

    async def kept_answer(self, client, key):
        return self.kept.get((client, key))

    def models(self):
        return [Card()]

    def requests(self):
        return [
            {"id": g.request_id, "client": g.request.client, "state": "streaming"}
            for g in reversed(self.generations)
        ]

    def cancel(self, request_id):
        for generation in self.generations:
            if generation.request_id == request_id and not generation.cancelled.is_set():
                generation.cancel()
                return True
        return False

    def snapshot(self):
        return Snapshot(
            version="0",
            state=self.state,
            mode="auto",
            degraded=None,
            model=ModelSnapshot(name=MODEL, path_hash="0", context_tokens=512),
            workers=[],
            fallback=FallbackSnapshot(armed=False),
            queue=QueueSnapshot(0, 0, 32),
            devices=[],
            ram=RamSnapshot(None, None, None, None),
            problem=None if self.state == "ready" else "The model is still loading.",
        )


class OneKey:
    """A key ring with the key `PHONE`, named `phone`."""

    def match(self, presented):
        return {PHONE: "phone", b"hai_tablet": "tablet"}.get(presented)


def door(core, *, keys=None, **rules):
    """The application over a scripted core."""
    server = core.settings.server
    host_rules = HostRules(
        own_names() if server.lan else (),
        server.allowed_hosts,
        server.allowed_origins,
        lan=server.lan,
        **rules,
    )
    return create_app(core, host_rules, keys or OneKey(), TOKEN)


def settings(**server):
    """Settings with some of the server's changed."""
    return Settings.model_validate({"server": server})


@contextlib.asynccontextmanager
async def listening(core, limits=None, host="127.0.0.1"):
    """The door on a real socket; yields the listener."""
    sock = await asyncio.to_thread(bind, host, 0)  # may look a name up
    listener = Listener(door(core), sock, limits)
    async with asyncio.TaskGroup() as group:
        running = group.create_task(listener.run())
        yield listener
        listener.stop()
        await running
