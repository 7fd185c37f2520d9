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
    Cancel,
    Detokenize,
    Embed,
    Fatal,
    Heartbeat,
    Hello,
    Load,
    LoadFailed,
    Prepare,
    Refused,
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
    from homeai.worker.loading import load
    from homeai.worker.preparer import Preparer

    loaded = load(order, channel)
    if isinstance(loaded, LoadFailed):
        channel.send(loaded)
        return EXIT_FAILED
    engine = Engine(loaded.model, loaded.context, channel.send)
    embedder = Embedder(loaded.model, loaded.context) if loaded.embeds else None
    preparer = Preparer(loaded.model, loaded.ready.context_tokens, channel.send, work.put)
    threading.Thread(target=preparer.run, args=(prompts,), daemon=True).start()
    threading.Thread(target=_beat, args=(channel, engine), daemon=True).start()
    channel.send(loaded.ready)
    return _compute(channel, work, engine, embedder)


def _compute(
    channel: Channel, work: Inbox[ToWorker], engine: Engine, embedder: Embedder | None
) -> int:
    from homeai.worker.llama.context import DecodeFailed

    while (messages := work.take(wait=not engine.in_flight)) is not None:
        for message in messages:
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
                case _:
                    return EXIT_FAILED
        try:
            engine.step()
        except DecodeFailed as failed:
            failure = failed.failure
            channel.send(Fatal(code=failure.code, message=failure.sentence, status=failed.status))
            return EXIT_FAILED
    return EXIT_OK


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


def _beat(channel: Channel, engine: Engine) -> None:
    """Tell the core once a second how far the work is."""
    process, pause = psutil.Process(), threading.Event()
    while not pause.wait(HEARTBEAT_S):
        last = engine.last_token_at
        beat = Heartbeat(
            steps=engine.steps,
            in_flight=engine.in_flight,
            rss_bytes=process.memory_info().rss,
            last_token_age_s=None if last is None else perf_counter() - last,
        )
        try:
            channel.send(beat)
        except OSError:
            return  # the reading thread ends the process


if __name__ == "__main__":
    sys.exit(main())
