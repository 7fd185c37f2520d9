"""One task owns one worker process; everybody else posts messages and reads its state."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable
from dataclasses import dataclass, field

import msgspec

from homeai.domain.errors import HomeAIError, ShuttingDown
from homeai.domain.states import WorkerState, advance
from homeai.protocol.framing import FrameDecoder, FrameError
from homeai.protocol.messages import (
    PROTOCOL_VERSION,
    Arm,
    Disarm,
    Fatal,
    FromWorker,
    Heartbeat,
    Hello,
    Load,
    LoadFailed,
    Loading,
    Ready,
    StandingBy,
    Stop,
    ToWorker,
)
from homeai.supervisor.diagnosis import Ending, Evidence, diagnose
from homeai.supervisor.recovery import Recovery
from homeai.supervisor.terms import Level, Listener, Policy
from homeai.supervisor.transport import Launch, Link, spawn
from homeai.supervisor.watch import Progress, oom_kill_count

logger = logging.getLogger(__name__)

_READ_BYTES = 1 << 16
_STOP_GRACE_S = 3.0


@dataclass
class WorkerProcess:
    """A worker: started, watched, restarted, stopped.

    `run()` is the owner; it must run as a task. Everything else may be called at any time.

    Args:
        name: `cpu` | `gpu`.
        launch: Makes the command and environment for each start.
        load: Makes the load order for each start.
        policy: Restart and stall limits.
        listener: Hears of messages, states and endings.
        chance: Random number 0 ≤ x < 1 for each restart pause.
        level: How much of it is wanted now; change it with `want`.

    Attributes:
        probe_at: Event loop time of the next try while the circuit is open; None = none will come.
    """

    name: str
    launch: Callable[[], Launch]
    load: Callable[[], Load]
    policy: Policy
    listener: Listener
    chance: Callable[[], float]
    level: Level = Level.READY
    probe_at: float | None = None
    state: WorkerState = WorkerState.STOPPED
    ready: Ready | None = None
    pid: int | None = None
    restarts: int = 0
    last_failure: str | None = None
    load_progress: float | None = None
    heartbeat: Heartbeat | None = None
    failure: HomeAIError | None = None
    _link: Link | None = None
    _changed: asyncio.Event = field(default_factory=asyncio.Event)
    _again: asyncio.Event = field(default_factory=asyncio.Event)
    _ladder: list[asyncio.TimerHandle] = field(default_factory=list)
    _asked: bool = False
    _stopping: bool = False

    def __post_init__(self) -> None:
        self._recovery = Recovery(self.policy, self.chance)

    async def run(self) -> None:
        """Own the process until `stop` was called."""
        try:
            while not self._stopping:
                if self.level is Level.OFF:
                    self._move(WorkerState.STOPPED)
                    await self._again.wait()
                    self._again.clear()
                    continue
                self._move(WorkerState.STARTING)
                await self._after(await self._live())
        finally:
            self._move(WorkerState.STOPPED)

    def want(self, level: Level) -> None:
        """Say how much of the worker is wanted from now on. Safe at any time; the owner follows."""
        if level is self.level:
            return
        self.level = level
        if level is Level.OFF:
            self._ask_to_end()
        elif self.state is WorkerState.STANDBY and level is Level.READY:
            self.send(Arm())
        elif self.state is WorkerState.READY and level is Level.STANDBY:
            self.send(Disarm())
        elif self.state is WorkerState.STOPPED:
            self._again.set()

    async def ensure_ready(self) -> Ready:
        """Return once the worker accepts work. Do not look at `state` first: the owner decides.

        ready → at once · starting or pausing → wait · failed, stopping → raise

        Raises:
            HomeAIError: Why it cannot become ready by itself.
        """
        while True:
            if self._stopping:
                raise ShuttingDown("The service is stopping.")
            if self.failure is not None:
                raise self.failure
            if self.state is WorkerState.READY and self.ready is not None:
                return self.ready
            await self._changed.wait()

    def send(self, message: ToWorker) -> None:
        """Post a message to a ready worker; lost if it dies first, which the listener hears."""
        if self._link is not None:
            self._link.send(message)

    def start_again(self) -> None:
        """Try once more after giving up, for instance with another model."""
        self.failure = self.probe_at = None
        self._recovery.forget()
        self._again.set()

    async def recycle(self) -> None:
        """End the process so that `run` starts it anew with what `load` says then."""
        self.start_again()
        self._ask_to_end()

    async def stop(self) -> None:
        """Let `run` end: ask the process, wait, kill. Safe to call twice."""
        self._stopping = True
        self._again.set()
        self._wake()
        self._ask_to_end()

    def _ask_to_end(self) -> None:
        """Begin the ladder: ask, terminate, kill. It ends with the process."""
        link = self._link
        if link is not None and not self._ladder:
            self._asked = True  # so that its end counts as no death
            link.send(Stop())
            loop = asyncio.get_running_loop()
            self._ladder = [
                loop.call_later(_STOP_GRACE_S, link.terminate),
                loop.call_later(2 * _STOP_GRACE_S, link.kill),
            ]

    async def _after(self, ending: Ending) -> None:
        if self._stopping or self._asked:
            self.listener.on_ending(ending)
            return
        now = asyncio.get_running_loop().time()
        self.last_failure = ending.sentence
        logger.warning("worker ended worker=%s code=%s", self.name, ending.code)
        rest = self._recovery.after(ending, now)
        self.failure = rest.failure
        if rest.failure is not None and rest.seconds is not None:
            self.probe_at = now + rest.seconds
        state = WorkerState.BACKOFF if rest.failure is None else WorkerState.FAILED
        self._again.clear()
        self._move(state, ending.sentence)
        self.listener.on_ending(ending)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(rest.seconds):
                await self._again.wait()
        self._again.clear()
        self.restarts += not self._stopping

    async def _live(self) -> Ending:
        """One life of the process, from start to end."""
        self._asked = False
        kills_before = oom_kill_count()
        try:
            link = await spawn(self.launch())
        except (OSError, TimeoutError) as error:
            return Ending("worker_failed", f"The worker cannot be started: {type(error).__name__}.")
        self._link, self.pid, self.load_progress = link, link.pid, None
        watch = Progress(self.policy.stall_s)
        reported: tuple[str, str] | None = None
        broken = False
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(link.collect_stderr())
                watchdog = group.create_task(watch.kill_when_stalled(link))
                try:
                    reported = await self._listen(link, watch)
                except FrameError:
                    broken = True
                    link.kill()
                watchdog.cancel()
                status = await link.finish(_STOP_GRACE_S)
                link.kill()  # whatever it started must not outlive it
        finally:
            link.kill()
            link.close()
            while self._ladder:
                self._ladder.pop().cancel()
            was_ready = self.ready is not None
            self._link = self.ready = self.pid = self.heartbeat = self.load_progress = None
        return diagnose(
            Evidence(
                status=status,
                reported=reported,
                during_load=not was_ready,
                stalled=watch.stalled,
                broken_channel=broken,
                oom_kills=oom_kill_count() - kills_before,
            )
        )

    async def _listen(self, link: Link, watch: Progress) -> tuple[str, str] | None:
        """Take messages until the channel closes; returns what the worker said of its end."""
        decoder: FrameDecoder[FromWorker] = FrameDecoder(FromWorker)  # type: ignore[arg-type]
        reported: tuple[str, str] | None = None
        while True:
            try:
                data = await link.reader.read(_READ_BYTES)
            except OSError:
                return reported
            if not data:
                return reported
            messages = decoder.feed(data)
            watch.saw_something()
            for message in messages:
                reported = self._take(link, watch, message) or reported
            self.listener.on_messages(messages)

    def _take(self, link: Link, watch: Progress, message: FromWorker) -> tuple[str, str] | None:
        """Take in what concerns the process itself; returns what it said of its end."""
        match message:
            case Hello():
                self._greet(link, message)
            case Loading():
                self.load_progress = message.fraction
                self.listener.on_progress(message.fraction)
            case StandingBy():
                self._stand_by(link)
            case Ready():
                self._became_ready(link, message)
            case Heartbeat():
                self.heartbeat = message
                watch.saw_heartbeat(message)
            case LoadFailed() | Fatal():
                return message.code, message.message
            case _:
                pass
        return None

    def _stand_by(self, link: Link) -> None:
        self.ready = self.load_progress = None
        self._move(WorkerState.STANDBY)
        if self.level is Level.READY:
            link.send(Arm())

    def _became_ready(self, link: Link, message: Ready) -> None:
        self.ready, self.load_progress = message, None
        self.failure = self.probe_at = None
        self._move(WorkerState.READY)
        if self.level is Level.STANDBY:
            link.send(Disarm())

    def _greet(self, link: Link, hello: Hello) -> None:
        if hello.protocol != PROTOCOL_VERSION:
            msg = f"worker speaks protocol {hello.protocol}, not {PROTOCOL_VERSION}"
            raise FrameError(msg)
        order = self.load()
        link.send(msgspec.structs.replace(order, standby=self.level is Level.STANDBY))

    def _move(self, new: WorkerState, reason: str | None = None) -> None:
        if new is self.state:
            return
        old, self.state = self.state, advance(self.state, new)
        logger.info("worker state worker=%s old=%s new=%s", self.name, old, new)
        self._wake()
        self.listener.on_state(old, new, reason)

    def _wake(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()
