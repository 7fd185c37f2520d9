"""How long failover takes, and how well its estimates hold, with a simulated GPU and the real CPU worker.

    python tests/bench/failover.py --model MODEL --warm 10 --cold 3 --estimates 50

The gap is what a client sees: from the last token before the failure to the first one after it. Wanted:
warm ≤ CPU prefill × 1.15 + 100 ms; cold ≤ that + start of the CPU worker + 300 ms. Estimates: the actual
time is at most p90 in 90 % of the requests, and the median of |actual - p50| / p50 is at most 15 %.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sqlite3
import statistics
import sys
import tempfile
from contextlib import closing
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from homeai.proof.client import Seen
from homeai.proof.device.build import build
from homeai.proof.house import House

WORDS = [
    "the",
    "fox",
    "sat",
    "under",
    "a",
    "tall",
    "oak",
    "tree",
    "and",
    "looked",
    "at",
    "the",
    "river",
    "where",
    "boats",
    "went",
    "by",
]
GAP_FACTOR, GAP_WARM_MS, GAP_COLD_MS = 1.15, 100.0, 300.0


def prompt(chance: random.Random, words: int) -> str:
    return " ".join(chance.choice(WORDS) for _ in range(words))


def gaps(
    house: House, count: int, chance: random.Random, *, cold: bool
) -> list[tuple[float, float]]:
    """(gap, CPU prefill) in milliseconds of each failover."""
    found = []
    for number in range(count):
        house.wait_well()
        rest = "stopped" if cold else "standby"
        house.client.wait(lambda s: s["workers"][1]["state"] == rest, most_s=60)  # noqa: B023
        body = {
            "prompt": prompt(chance, chance.randint(20, 200)),
            "max_tokens": 24,
            "temperature": 0,
        }
        house.break_gpu(after_graphs=10)
        seen: Seen = house.client.ask(f"gap-{cold}-{number}", body | {"stream": True})
        house.gpu.heal()
        if seen.gap_s is not None and seen.devices == ["gpu", "cpu"]:
            found.append((1000 * seen.gap_s, float(seen.facts["prefill_ms"])))
    return found


def cpu_starts_ms(journal: Path) -> list[float]:
    """How long each start of the CPU worker took."""
    query = "SELECT at, body FROM events WHERE type = 'WorkerStateChanged' ORDER BY seq"
    began, found = None, []
    with closing(sqlite3.connect(journal)) as db:
        for at, body in db.execute(query):
            event = json.loads(body)
            if event["worker"] != "cpu":
                continue
            if event["new"] == "starting":
                began = at
            elif event["new"] == "ready" and began is not None:
                found.append(1000 * (at - began))
                began = None
    return found


def estimates(house: House, count: int, chance: random.Random) -> list[tuple[float, float, float]]:
    """(p50, p90, actual) in milliseconds of requests that the CPU takes while the GPU is away."""
    house.wait_well()
    house.gpu.fault("abort", always=True)
    house.client.ask("estimate-first", {"prompt": "Hello", "max_tokens": 4})
    found = []
    for number in range(count):
        body = {
            "prompt": prompt(chance, chance.randint(10, 250)),
            "max_tokens": chance.choice((8, 16, 32, 64)),
            "temperature": 0,
            "logit_bias": {"0": -100, "2": -100},  # answers as long as allowed
        }
        seen = house.client.ask(f"estimate-{number}", body | {"stream": True})
        estimate = seen.facts.get("estimate_ms")
        if estimate and seen.degraded_at is not None:
            actual = 1000 * (seen.ended_at - seen.degraded_at)
            found.append((estimate["p50"], estimate["p90"], actual))
    house.gpu.heal()
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", type=Path, default=os.environ.get("HOMEAI_TEST_MODEL"))
    parser.add_argument("--warm", type=int, default=10)
    parser.add_argument("--cold", type=int, default=3)
    parser.add_argument("--estimates", type=int, default=50)
    options = parser.parse_args()
    chance = random.Random(1)
    with tempfile.TemporaryDirectory(prefix="homeai-failover-") as name:
        plugin = build(Path(name) / "plugin")
        for cold, count in ((False, options.warm), (True, options.cold)):
            if not count:
                continue
            folder = Path(name) / ("cold" if cold else "warm")
            folder.mkdir()
            settings = {
                "fallback.standby": "cold" if cold else "warm",
                "limits.context_tokens": "1024",
            }
            house = House(folder, options.model, plugin, settings)
            try:
                house.wait_armed()
                found = gaps(house, count, chance, cold=cold)
                if not cold:
                    promised = estimates(house, options.estimates, chance)
            finally:
                house.close()
            starts = cpu_starts_ms(folder / "home" / "data" / "journal.db")
            extra = GAP_COLD_MS + statistics.median(starts) if cold else 0.0
            over = [gap - (GAP_FACTOR * prefill + GAP_WARM_MS + extra) for gap, prefill in found]
            print(
                f"{'cold' if cold else 'warm'}: gap median {statistics.median(g for g, _ in found):.0f} ms, "
                f"CPU prefill {statistics.median(p for _, p in found):.0f} ms"
                + (f", worker start {statistics.median(starts):.0f} ms" if cold else "")
                + f"; within the bound {sum(o <= 0 for o in over)} of {len(over)}, worst {max(over):+.0f} ms"
            )
    if options.warm and promised:
        within = sum(actual <= p90 for _, p90, actual in promised)
        off = statistics.median(abs(actual - p50) / p50 for p50, _, actual in promised)
        print(
            f"estimates: actual ≤ p90 in {within} of {len(promised)}, "
            f"median |actual - p50| / p50 {100 * off:.0f} %"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
