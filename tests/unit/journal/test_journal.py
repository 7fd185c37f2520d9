"""The journal keeps what it was told, in order, and survives whatever ends the process."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from homeai.domain.request import GenerationRequest, TextPrompt
from homeai.journal import schema
from homeai.journal.effects import Kind
from homeai.journal.journal import KeptAnswer, open_journal
from homeai.journal.opening import make_ready
from homeai.journal.schema import NewerJournal

DAY_S = 86_400.0


class Clock:
    now = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def problems() -> list[str]:
    return []


@pytest.fixture
def journal(tmp_path, clock, problems):
    made = open_journal(
        tmp_path / "journal.db", now=clock, keep_prompts=False, on_problem=problems.append
    )
    made.start()
    yield made
    made.close()


def request(name: str = "r1", client: str = "anna") -> GenerationRequest:
    return GenerationRequest(id=name, client=client, prompt=TextPrompt("a secret question"))


async def attempt(journal, name="r1", number=1, worker="gpu") -> None:
    kept = asyncio.Event()
    journal.attempt(name, number, worker, worker, kept.set)
    await kept.wait()


async def test_a_request_with_its_attempts_comes_back(journal):
    journal.received(request())
    await attempt(journal)
    journal.attempt_ended("r1", 1, "crashed", 7)
    await attempt(journal, number=2, worker="cpu")
    journal.attempt_ended("r1", 2, "finished", 5)
    journal.ended("r1", "finished", None, (1200.0, 1100.0))

    (found,) = await journal.recent(10)

    assert found["state"] == "finished"
    assert [(a["worker"], a["outcome"], a["tokens"]) for a in found["attempts"]] == [
        ("gpu", "crashed", 7),
        ("cpu", "finished", 5),
    ]
    assert (found["estimate_ms"], found["actual_ms"]) == (1200.0, 1100.0)


async def test_an_attempt_is_kept_before_it_begins(journal, tmp_path):
    journal.received(request())

    await attempt(journal)

    with closing(sqlite3.connect(tmp_path / "journal.db")) as other:
        assert other.execute("SELECT worker FROM attempts").fetchall() == [("gpu",)]


async def test_a_prompt_is_not_kept_without_permission(journal, tmp_path):
    journal.received(request())
    await journal.recent(1)

    for file in tmp_path.iterdir():
        assert b"secret question" not in file.read_bytes()


def test_a_prompt_is_kept_with_permission(tmp_path, clock, problems):
    made = open_journal(tmp_path / "j.db", now=clock, keep_prompts=True, on_problem=problems.append)
    made.start()
    made.received(request())
    made.close()

    with closing(sqlite3.connect(tmp_path / "j.db")) as db:
        assert "secret question" in db.execute("SELECT prompt FROM requests").fetchone()[0]


async def test_what_a_core_left_open_is_closed_as_interrupted_and_the_rest_stays(journal):
    for name in ("done", "open"):
        journal.received(request(name))
        await attempt(journal, name)
    journal.attempt_ended("done", 1, "finished", 3)
    journal.ended("done", "finished", None, None)
    await journal.effects.intend("call", "open", "mail", Kind.IRREVERSIBLE, "00")

    assert await journal.close_interrupted() == 1

    opened, done = await journal.recent(10)
    assert (opened["state"], opened["error"]) == ("failed", "interrupted")
    assert opened["attempts"][0]["outcome"] == "interrupted"
    assert (done["state"], done["error"]) == ("finished", None)
    assert (await journal.effects.find("call")).state == "unknown"
    assert await journal.close_interrupted() == 0


async def test_an_effect_cannot_be_intended_twice_and_its_result_stays(journal):
    await journal.effects.intend("c1", "r1", "counter", Kind.IDEMPOTENT, "aa")
    await journal.effects.commit("c1", '{"count":1}')

    with pytest.raises(sqlite3.IntegrityError):
        await journal.effects.intend("c1", "r1", "counter", Kind.IDEMPOTENT, "aa")

    (effect,) = await journal.effects.of_request("r1")
    assert (effect.state, effect.result) == ("committed", '{"count":1}')


async def test_what_only_looked_may_be_replaced_by_another_try(journal):
    await journal.effects.intend("c1", "r1", "clock", Kind.PURE, "aa")
    await journal.effects.commit("c1", '"noon"')
    await journal.effects.intend("c1", "r1", "counter", Kind.IRREVERSIBLE, "bb")

    (effect,) = await journal.effects.of_request("r1")
    assert (effect.tool, effect.state, effect.result) == ("counter", "intended", None)


async def test_one_bad_job_does_not_harm_those_beside_it(journal):
    await journal.effects.intend("c1", "r1", "counter", Kind.IDEMPOTENT, "aa")
    outcomes = await asyncio.gather(
        *(journal.effects.intend(n, "r1", "t", Kind.PURE, "a") for n in ("c2", "c1", "c3")),
        return_exceptions=True,
    )

    assert [type(o) for o in outcomes] == [type(None), sqlite3.IntegrityError, type(None)]
    assert [e.call_id for e in await journal.effects.of_request("r1")] == ["c1", "c2", "c3"]


async def test_the_same_id_may_come_again_later(journal):
    for _ in range(2):
        journal.received(request())
        await attempt(journal)
        journal.attempt_ended("r1", 1, "finished", 1)
        journal.ended("r1", "finished", None, None)

    assert [len(r["attempts"]) for r in await journal.recent(10)] == [1, 1]


async def test_answers_are_kept_for_each_client_by_itself(journal):
    await journal.keep_answer(KeptAnswer("anna", "k", "sha", 200, "[]", b"data"))

    assert (await journal.answer("anna", "k")).body == b"data"
    assert await journal.answer("ben", "k") is None


async def test_old_records_are_forgotten_and_open_ones_stay(journal, clock):
    for name in ("old", "open"):
        journal.received(request(name))
    journal.ended("old", "finished", None, None)
    await journal.recent(1)
    clock.now += 8 * DAY_S

    await journal.forget_older_than(7)

    assert [r["id"] for r in await journal.recent(10)] == ["open"]


@pytest.mark.parametrize(
    "content", [b"not a database" * 100, b"SQLite format 3\0" + b"\xff" * 4000]
)
def test_a_damaged_file_is_set_aside_and_a_new_journal_begun(tmp_path, clock, problems, content):
    path = tmp_path / "journal.db"
    path.write_bytes(content)

    made = open_journal(path, now=clock, keep_prompts=False, on_problem=problems.append)
    made.start()
    made.close()

    (aside,) = tmp_path.glob("journal.db.broken-*")
    assert aside.read_bytes() == content


def test_a_journal_of_a_newer_homeai_is_left_alone(tmp_path, clock, problems):
    path = tmp_path / "journal.db"
    with closing(sqlite3.connect(path)) as db:
        db.execute(f"PRAGMA user_version = {len(schema.LADDER) + 1}")

    with pytest.raises(NewerJournal, match="version"):
        open_journal(path, now=clock, keep_prompts=False, on_problem=problems.append)


@pytest.mark.skipif(os.name != "posix", reason="file modes")
def test_only_its_owner_may_read_it(journal, tmp_path):
    assert (tmp_path / "journal.db").stat().st_mode & 0o077 == 0


async def test_when_it_cannot_be_written_service_goes_on_and_somebody_is_told(
    journal, tmp_path, problems
):
    with closing(sqlite3.connect(tmp_path / "journal.db")) as other:
        other.execute("DROP TABLE attempts")
    journal.received(request())

    await attempt(journal)
    await attempt(journal, number=2)

    assert len(problems) == 1
    assert "cannot be written" in problems[0]


async def test_many_old_rows_of_every_table_are_forgotten(journal, tmp_path, clock):
    for number in range(1_201):
        journal.event(number, "Old", b"{}")
    journal.received(request("old"))
    journal.ended("old", "finished", None, None)
    journal.received(request("open"))
    for name in ("old", "open", "orphan"):
        await journal.effects.intend(name, name, "tool", Kind.PURE, "aa")
    await journal.keep_answer(KeptAnswer("anna", "k", "aa", 200, "[]", b"old"))
    clock.now += 10 * DAY_S
    journal.event(5_000, "New", b"{}")

    await journal.forget_older_than(5)

    with closing(sqlite3.connect(tmp_path / "journal.db")) as db:
        assert db.execute("SELECT seq FROM events").fetchall() == [(5_000,)]
        assert db.execute("SELECT id FROM requests").fetchall() == [("open",)]
        assert db.execute("SELECT call_id FROM effects").fetchall() == [("open",)]
        assert db.execute("SELECT count(*) FROM answers").fetchone() == (0,)


WRITER = """
import asyncio, sys
from pathlib import Path
from homeai.domain.request import GenerationRequest, TextPrompt
from homeai.journal.effects import Kind
from homeai.journal.journal import open_journal

async def main():
    journal = open_journal(Path(sys.argv[1]), now=lambda: 0.0, keep_prompts=False, on_problem=print)
    journal.start()
    number = int(sys.argv[2])
    while True:
        number += 1
        name = f"r{number}"
        journal.received(GenerationRequest(id=name, client="c", prompt=TextPrompt("x")))
        kept = asyncio.Event()
        journal.attempt(name, 1, "gpu", "gpu", kept.set)
        await kept.wait()
        print("attempt", name, flush=True)
        await journal.effects.intend(name, name, "tool", Kind.IRREVERSIBLE, "aa")
        print("effect", name, flush=True)
        journal.ended(name, "finished", None, None)

asyncio.run(main())
"""


def test_what_was_told_to_be_kept_is_there_after_a_kill_at_any_moment(tmp_path):
    path, chance = tmp_path / "journal.db", random.Random(7)
    for life in range(8):
        process = subprocess.Popen(
            [sys.executable, "-c", WRITER, str(path), str(life * 100_000)],
            stdout=subprocess.PIPE,
            text=True,
            cwd=Path(__file__).parents[3],
        )
        told = [process.stdout.readline().split() for _ in range(chance.randint(1, 60))]
        process.send_signal(signal.SIGKILL)
        told += [line.split() for line in process.stdout.read().splitlines()[:-1]]
        process.wait()
        process.stdout.close()
        make_ready(path, 0.0)
        assert not list(tmp_path.glob("*.broken-*"))
        with closing(sqlite3.connect(path)) as db:
            assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
            query = "SELECT id FROM requests JOIN attempts ON request = seq"
            attempts = {name for (name,) in db.execute(query)}
            effects = {name for (name,) in db.execute("SELECT call_id FROM effects")}
        assert {name for kind, name in told if kind == "attempt"} <= attempts
        assert {name for kind, name in told if kind == "effect"} <= effects
