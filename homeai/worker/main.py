"""Entry point of a worker process.

Threads: the main thread owns model and context; one thread reads the channel, one prepares prompts, one
sends heartbeats. When the core goes away the process ends at once, whatever native code is doing.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from time import perf_counter
from typing import TYPE_CHECKING

import psutil

from homeai.protocol.messages import (
    Arm,
    Cancel,
    Detokenize,
    Disarm,
    Embed,
    Fatal,
    Heartbeat,
    Hello,
    Load,
    LoadFailed,
    Prepare,
    Refused,
    StandingBy,
    Stop,
    Submit,
    ToWorker,
)
from homeai.worker.channel import Channel
from homeai.worker.inbox import Inbox

if TYPE_CHECKING:
    from homeai.worker.embedder import Embedder
    from homeai.worker.engine import Engine

HEARTBEAT_S = 1.0

EXIT_OK, EXIT_FAILED = 0, 1


def main() -> int:
    """Serve the core until it says stop or goes away; returns the exit status."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the core's to answer
    try:
        channel = Channel.from_environment(os.environ)
    except RuntimeError as error:
        sys.stderr.write(f"{error}\n")
        return EXIT_FAILED
    work: Inbox[ToWorker] = Inbox()
    prompts: Inbox[ToWorker] = Inbox()
    threading.Thread(target=_read, args=(channel, work, prompts), daemon=True).start()
    channel.send(Hello(pid=os.getpid()))
    first = work.take(wait=True)
    if not first or not isinstance(first[0], Load):
        return EXIT_FAILED
    return _serve(first[0], channel, work, prompts)


def _serve(order: Load, channel: Channel, work: Inbox[ToWorker], prompts: Inbox[ToWorker]) -> int:
    # imported only now: the profile decides about variables that native libraries read once
    from homeai.worker.loading_environment import prepare_environment

    prepare_environment(order.profile)
    from homeai.worker.embedder import Embedder
    from homeai.worker.engine import Engine
    from homeai.worker.loading import context_tokens, make_context, open_model
    from homeai.worker.preparer import Preparer

    model = open_model(order, channel)
    if isinstance(model, LoadFailed):
        channel.send(model)
        return EXIT_FAILED
    preparer = Preparer(model, context_tokens(order, model), channel.send, work.put)
    threading.Thread(target=preparer.run, args=(prompts,), daemon=True).start()
    pulse = _Pulse()
    threading.Thread(target=_beat, args=(channel, pulse), daemon=True).start()
    standby = order.standby
    while True:
        if standby:
            channel.send(StandingBy(weights_bytes=model.size_bytes))
            if not _wait_for_arm(work):
                return EXIT_FAILED
        loaded = make_context(order, model)
        if isinstance(loaded, LoadFailed):
            channel.send(loaded)
            return EXIT_FAILED
        pulse.engine = engine = Engine(model, loaded.context, channel.send)
        embedder = Embedder(model, loaded.context) if loaded.embeds else None
        channel.send(loaded.ready)
        status = _compute(channel, work, engine, embedder)
        if status is not None:
            return status
        pulse.engine = None
        loaded.context.close()
        standby = True


def _wait_for_arm(work: Inbox[ToWorker]) -> bool:
    """Return True on `Arm`; what else comes while the model stands by is out of date or a fault."""
    while (messages := work.take(wait=True)) is not None:
        for message in messages:
            if isinstance(message, Arm):
                return True
            if not isinstance(message, Cancel | Disarm):
                return False
    return False


def _compute(
    channel: Channel, work: Inbox[ToWorker], engine: Engine, embedder: Embedder | None
) -> int | None:
    """Work until the end, which gives an exit status, or until told to stand by, which gives None."""
    from homeai.worker.llama.context import DecodeFailed

    while (messages := work.take(wait=not engine.in_flight)) is not None:
        for message in messages:
            if isinstance(message, Disarm):
                if not engine.in_flight and message is messages[-1]:
                    return None
            elif not _take(message, channel, engine, embedder):
                return EXIT_FAILED
        try:
            engine.step()
        except DecodeFailed as failed:
            failure = failed.failure
            channel.send(Fatal(code=failure.code, message=failure.sentence, status=failed.status))
            return EXIT_FAILED
    return EXIT_OK


def _take(message: ToWorker, channel: Channel, engine: Engine, embedder: Embedder | None) -> bool:
    """Do what the core asks for; False if it does not belong here."""
    match message:
        case Submit() if embedder is None:
            engine.submit(message)
        case Submit():
            channel.send(_wrong_kind(message.ticket, "makes embeddings, not text"))
        case Cancel():
            engine.cancel(message.ticket)
        case Embed() if embedder is not None:
            channel.send(embedder.answer(message))
        case Embed():
            channel.send(_wrong_kind(message.ticket, "makes text, not embeddings"))
        case Arm():
            pass  # it is armed already
        case _:
            return False
    return True


def _is_unprepared(message: ToWorker) -> bool:
    return isinstance(message, Submit) and message.prompt is not None


def _wrong_kind(ticket: int, does: str) -> Refused:
    return Refused(
        ticket=ticket, code="invalid_request", message=f"This model {does}.", param="model"
    )


def _read(channel: Channel, work: Inbox[ToWorker], prompts: Inbox[ToWorker]) -> None:
    """Sort messages to their threads; end the process when the core is gone or says so."""
    status = EXIT_FAILED
    try:
        for message in channel.receive():
            if isinstance(message, Stop):
                break
            if isinstance(message, Prepare | Detokenize) or _is_unprepared(message):
                prompts.put(message)
                continue
            work.put(message)
            if isinstance(message, Cancel):
                prompts.put(message)  # its ticket may still be there; it follows it then
        status = EXIT_OK
    except (OSError, ValueError) as error:
        sys.stderr.write(f"channel broken: {type(error).__name__}\n")
    finally:
        sys.stderr.flush()
        # not sys.exit: the main thread may be inside a native call that never returns
        os._exit(status)


class _Pulse:
    """What the heartbeat looks at; there is no engine while the model stands by."""

    engine: Engine | None = None


def _beat(channel: Channel, pulse: _Pulse) -> None:
    """Tell the core once a second how far the work is."""
    process, pause = psutil.Process(), threading.Event()
    while not pause.wait(HEARTBEAT_S):
        engine = pulse.engine
        last = engine.last_token_at if engine else None
        beat = Heartbeat(
            steps=engine.steps if engine else 0,
            in_flight=engine.in_flight if engine else 0,
            rss_bytes=process.memory_info().rss,
            last_token_age_s=None if last is None else perf_counter() - last,
        )
        try:
            channel.send(beat)
        except OSError:
            return  # the reading thread ends the process


if __name__ == "__main__":
    sys.exit(main())
