"""What the proof does: each scene breaks something and looks at what clients see."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from homeai.proof.client import Seen
from homeai.proof.house import House
from homeai.proof.verdict import Scene

TOKENS = 32
ASK: dict[str, Any] = {
    "prompt": "Once upon a time there was",
    "max_tokens": TOKENS,
    "temperature": 0,
}
SEEDED = {**ASK, "prompt": "The garden of the old house", "temperature": 0.9, "seed": 7}
STREAM = {"stream": True}


def plain(house: House, scene: Scene) -> None:
    """A whole answer; the GPU fails before its first token."""
    calm = house.client.ask("plain-calm", ASK)
    house.break_gpu()
    seen = house.client.ask("plain", ASK)
    scene.requests += [calm, seen]
    _took_over(house, scene, seen, calm)
    scene.expect("the status is 200", seen.status == 200, seen.status)


def stream_before(house: House, scene: Scene) -> None:
    """A stream; the GPU fails before its first token."""
    calm = house.client.ask("before-calm", ASK | STREAM)
    house.break_gpu()
    seen = house.client.ask("before", ASK | STREAM)
    scene.requests += [calm, seen]
    _took_over(house, scene, seen, calm)
    _told_before(scene, seen)


def stream_amid(house: House, scene: Scene) -> None:
    """A stream with a seed; the GPU fails in the middle of the answer."""
    calm = house.client.ask("amid-calm", SEEDED | STREAM)
    house.break_gpu(after_graphs=TOKENS // 2)
    seen = house.client.ask("amid", SEEDED | STREAM)
    scene.requests += [calm, seen]
    _took_over(house, scene, seen, calm)
    _told_before(scene, seen)
    gap = seen.gap_s
    scene.facts["gap_ms"] = None if gap is None else round(gap * 1000)


def cancelled(house: House, scene: Scene) -> None:
    """The client goes away while its request is between two workers."""
    house.break_gpu(after_graphs=4)

    def is_between() -> bool:
        return house.client.record("leaver").get("state") == "failing_over"

    house.client.abandon("leaver", ASK | STREAM | {"max_tokens": 200}, is_between)
    gone = house.client.wait(
        lambda _: house.client.record("leaver").get("state") == "cancelled", most_s=10
    )
    record = house.client.record("leaver")
    attempts = len(record.get("attempts", ()))
    scene.expect("it is cancelled", gone, record.get("state"))
    scene.expect("the CPU was not asked", attempts == 1, f"{attempts} attempt")
    status = house.client.status()["queue"]
    scene.expect("its place is free", status["waiting"] == 0, f"{status['waiting']} waiting")


def crowd(house: House, scene: Scene) -> None:
    """Four clients at once; the GPU fails under them."""
    asks = [ASK | STREAM | {"prompt": f"Story number {n}: a fox"} for n in range(4)]
    calm = [house.client.ask(f"crowd-calm-{n}", ask) for n, ask in enumerate(asks)]
    house.break_gpu(after_graphs=12)
    seen = at_once([(f"crowd-{n}", ask) for n, ask in enumerate(asks)], house.client.ask)
    scene.requests += seen
    same = [one.text == other.text for one, other in zip(seen, calm, strict=True)]
    scene.expect("every client got its whole answer", all(one.complete for one in seen))
    scene.expect("each answer is the undisturbed one", all(same), f"{sum(same)} of {len(same)}")
    most = max(len(one.devices) for one in seen)
    scene.expect("nobody took more than two attempts", most <= 2, most)
    moved = sum(len(one.devices) > 1 for one in seen)
    scene.expect("somebody was moved to the CPU", moved > 0, f"{moved} of {len(seen)}")


def comes_back(house: House, scene: Scene) -> None:
    """The GPU returns while the CPU still answers."""
    ask = ASK | STREAM | {"max_tokens": 160}
    calm = house.client.ask("back-calm", ask)
    house.break_gpu(after_graphs=6)
    seen = house.client.ask("back", ask)
    well = house.wait_well()
    after = house.client.ask("back-after", ASK | STREAM)
    scene.requests += [seen, after]
    scene.expect("the GPU came back by itself", well)
    scene.expect("the CPU's answer was not disturbed", seen.text == calm.text)
    scene.expect(
        "the next answer comes from the GPU", after.devices == ["gpu"], " → ".join(after.devices)
    )


def deadline(house: House, scene: Scene) -> None:
    """The client's deadline is earlier than the CPU could answer."""
    house.break_gpu()
    seen = house.client.ask("hasty", ASK | {"max_tokens": 900}, HomeAI_Deadline_Ms="1200")
    scene.requests.append(seen)
    _ended_with(scene, seen, "latency_exceeds_deadline")
    attempts = len(house.client.record("hasty").get("attempts", ()))
    scene.expect("it ended before any CPU token", attempts == 1, f"{attempts} attempt")


def forbidden(house: House, scene: Scene) -> None:
    """The client does not want the CPU."""
    house.break_gpu()
    seen = house.client.ask("gpu-only", ASK, HomeAI_Fallback="never")
    scene.requests.append(seen)
    _ended_with(scene, seen, "gpu_only")


def short_of_memory(house: House, scene: Scene) -> None:
    """There is too little main memory for the CPU worker."""
    fallback = house.client.status()["fallback"]
    scene.expect(
        "it is not armed, and says so before any fault", not fallback["armed"], fallback["reason"]
    )
    house.break_gpu()
    seen = house.client.ask("no-memory", ASK)
    scene.requests.append(seen)
    _ended_with(scene, seen, "ram_insufficient")


def at_once(
    asks: list[tuple[str, dict[str, Any]]], ask: Callable[[str, dict[str, Any]], Seen]
) -> list[Seen]:
    """Send requests at the same time; returns what was seen of each, in order."""
    found: dict[int, Seen] = {}

    def one(index: int) -> None:
        found[index] = ask(*asks[index])

    threads = [threading.Thread(target=one, args=(index,)) for index in range(len(asks))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return [found[index] for index in range(len(asks))]


def _took_over(house: House, scene: Scene, seen: Seen, calm: Seen) -> None:
    attempts = seen.facts.get("attempts", [])
    if attempts:
        scene.facts["first_failure"] = attempts[0]["outcome"]
        scene.facts["decision"] = seen.facts.get("reason")
    scene.expect("the CPU took over", seen.devices == ["gpu", "cpu"], " → ".join(seen.devices))
    scene.expect("the answer is complete", seen.complete, seen.error or "")
    scene.expect("it is the undisturbed answer", seen.text == calm.text, seen.output_sha256[:12])
    scene.expect("it kept its request id", seen.facts.get("request_id") == seen.name)
    drawn = sum(int(attempt["tokens"]) for attempt in attempts)
    scene.expect(f"each of the {TOKENS} tokens came once", drawn == TOKENS, drawn)
    scene.expect("the GPU came back by itself", house.wait_well())


def _told_before(scene: Scene, seen: Seen) -> None:
    degraded = next((n for _, n in seen.notices if n.get("event") == "degraded"), {})
    estimate = (degraded.get("estimate_ms") or {}).get("p50")
    at = seen.degraded_at
    after = [t for t in seen.tokens_at if at is not None and t > at]
    scene.expect("the client was told before the CPU began", bool(after), degraded.get("reason"))
    scene.expect("with an estimate", bool(estimate), f"{estimate} ms")
    scene.expect("over the same connection", seen.connections == 1)


def _ended_with(scene: Scene, seen: Seen, code: str) -> None:
    found = (seen.error or {}).get("code")
    scene.expect(f"the client gets `{code}`", found == code, found)
    told = seen.headers.get("x-should-retry")
    scene.expect("and is told not to repeat", told == "false", told)
