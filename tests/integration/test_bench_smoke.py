"""The benchmark's own arithmetic, on recorded data; no figure here depends on this machine's speed."""

import asyncio
import json
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from tests.bench import llama_build, load, quote, tables
from tests.bench.figures import THROUGHPUT, compare, median, percentile, problem_of
from tests.bench.prompts import Vocabulary, text_of
from tests.bench.records import Cell, LoadPlan, Report, RequestResult

BENCH = Path(__file__).parents[1] / "bench"
RECORDED = BENCH / "recorded.json"


@pytest.fixture
def recorded() -> Report:
    return msgspec.json.decode(RECORDED.read_bytes(), type=Report)


def a_cell(server="homeai", repetition=0, wall_s=2.0, **more) -> Cell:
    request = RequestResult(
        client=0,
        index=0,
        status=200,
        start_s=0.0,
        end_s=wall_s,
        text_times_s=[0.5, 1.0, wall_s],
        prompt_tokens=10,
        completion_tokens=3,
        complete=True,
    )
    fields = {"requests": [request], "peak_bytes": 2**20, "server_cpu_s": 1.0, **more}
    return Cell(
        scenario="throughput",
        server=server,
        clients=1,
        repetition=repetition,
        turn=0,
        wall_s=wall_s,
        **fields,
    )


@pytest.mark.parametrize(
    ("values", "share", "expected"),
    [
        ([3.0], 0.9, 3.0),
        ([1.0, 2.0, 3.0], 0.5, 2.0),
        ([1.0, 2.0], 0.5, 1.5),
        ([0.0, 10.0], 0.9, 9.0),
    ],
)
def test_percentiles_are_interpolated(values, share, expected):
    assert percentile(values, share) == pytest.approx(expected)


def test_percentile_of_nothing_is_an_error():
    with pytest.raises(ValueError, match="0 values"):
        median([])


def test_ratios_pair_cells_of_the_same_repetition():
    cells = [
        a_cell(repetition=0, wall_s=2.0),
        a_cell(repetition=1, wall_s=1.0),
        a_cell("llama-server", repetition=1, wall_s=2.0),
        a_cell("llama-server", repetition=0, wall_s=2.0),
        a_cell("llama-server", repetition=2, wall_s=9.0),
    ]
    found = compare(cells, THROUGHPUT[0], "homeai", "llama-server", 1)
    assert found is not None
    assert found.ratios == pytest.approx((1.0, 2.0))
    assert found.ratio == pytest.approx(1.5)
    assert found.reached is True


def test_a_pair_with_a_problem_does_not_count():
    cells = [a_cell(problem="broken"), a_cell("llama-server")]
    assert compare(cells, THROUGHPUT[0], "homeai", "llama-server", 1) is None


@pytest.mark.parametrize(
    ("max_tokens", "prompt_tokens", "problem"),
    [(3, 10, None), (3, None, None), (4, 10, "3 tokens instead of 4"), (3, 11, "prompt of 10")],
)
def test_answers_of_another_length_make_a_cell_unusable(max_tokens, prompt_tokens, problem):
    found = problem_of(a_cell(), max_tokens, prompt_tokens)
    assert found is None if problem is None else problem in found


def test_the_recorded_report_renders_with_every_figure(recorded):
    text = tables.render(recorded)
    for metric in THROUGHPUT:
        assert metric.title in text
    assert "Same system prompt twice" in text
    assert "gave the same text as llama-server" in text


def test_a_server_that_is_half_as_fast_misses_what_is_wanted(recorded):
    name = tables.servers_of(recorded)[0]
    slow = [
        msgspec.structs.replace(cell, wall_s=2 * cell.wall_s) if cell.server == name else cell
        for cell in recorded.cells
    ]
    missed = tables.missed(msgspec.structs.replace(recorded, cells=slow), name)
    assert any("tokens/s" in line for line in missed)


def test_foreign_load_is_called_noisy(recorded):
    busy = msgspec.structs.replace(recorded.cells[0], foreign_cores=1.5)
    report = msgspec.structs.replace(recorded, cells=[busy, *recorded.cells[1:]])
    assert any(line.startswith("NOISY") for line in tables.remarks(report))


def test_the_summary_has_a_row_for_every_number_of_clients(recorded):
    rows = [line for line in tables.summary(recorded).splitlines() if line.startswith("| llama")]
    assert [row.split("|")[2].strip() for row in rows] == ["1", "2"]


def test_quoting_replaces_only_what_stands_between_the_markers():
    document = f"before {quote.START}\nold\n{quote.END} after"
    once = quote.between_markers(document, "new")
    assert once == f"before {quote.START}\nnew\n{quote.END} after"
    assert quote.between_markers(once, "new") == once
    with pytest.raises(ValueError, match="has no"):
        quote.between_markers("nothing here", "new")


def test_documents_have_a_place_for_the_figures():
    for name in ("README.md", "docs/BENCHMARKS.md"):
        text = (BENCH.parents[1] / name).read_text("utf-8")
        assert quote.START in quote.between_markers(text, "new")


def test_prompts_differ_by_seed_and_are_repeatable():
    vocabulary = Vocabulary((0,), tuple(f"w{i}" for i in range(100)), start_tokens=1)
    assert text_of(vocabulary, 20, "a") == text_of(vocabulary, 20, "a")
    assert text_of(vocabulary, 20, "a") != text_of(vocabulary, 20, "b")
    assert len(text_of(vocabulary, 20, "a").split()) == 19


def _event(text: str) -> bytes:
    return b"data: " + json.dumps({"choices": [{"text": text}]}).encode() + b"\n\n"


USAGE = b'data: {"choices":[],"usage":{"prompt_tokens":7,"completion_tokens":2}}\n\n'
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"


def _chunked(*chunks: bytes) -> bytes:
    return b"".join(f"{len(c):x}\r\n".encode() + c + b"\r\n" for c in (*chunks, b""))


async def _served(answers: list[list[bytes]], clients: int, requests: int) -> list[RequestResult]:
    """Let the load client talk to a server that gives each connection the next answer."""
    waiting = iter(answers)

    async def serve(reader, writer):
        await reader.readuntil(b"\r\n\r\n")
        for piece in next(waiting):
            writer.write(piece)
            await writer.drain()
            await asyncio.sleep(0)
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    plan = LoadPlan(
        host="127.0.0.1",
        port=port,
        path="/",
        clients=[[{"n": 1}] * requests] * clients,
        timeout_s=20,
    )
    async with server:
        return (await asyncio.to_thread(load.run, plan)).requests


async def test_the_load_client_reads_a_stream_that_is_cut_anywhere():
    whole = HEAD + _chunked(
        _event("a"), b": a comment\n\n", _event("ü"), USAGE, b"data: [DONE]\n\n"
    )
    bytewise = [whole[i : i + 1] for i in range(len(whole))]
    results = await _served([[whole], bytewise], clients=2, requests=1)
    for result in results:
        assert result.error is None
        assert result.text == "aü"
        assert (result.prompt_tokens, result.completion_tokens) == (7, 2)
        assert len(result.text_times_s) == 2


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (b"HTTP/1.1 503 Busy\r\nContent-Length: 4\r\n\r\nfull", "HTTP 503: full"),
        (HEAD + _chunked(_event("a")), "without [DONE]"),
        (HEAD + _chunked(_event("a"))[:-5], "closed early"),
        (HEAD + _chunked(b'data: {"error":{"message":"no"}}\n\n'), "error in the stream"),
    ],
)
async def test_a_failed_request_is_a_result_with_its_reason(answer, error):
    (result,) = await _served([[answer]], clients=1, requests=1)
    assert not result.complete
    assert error in result.error


def test_the_build_key_names_the_installed_version():
    assert llama_build.installed_version() in llama_build.key()
    assert llama_build.key() == llama_build.key()


@pytest.mark.parametrize("script", ["compare.py", "overhead.py", "footprint.py"])
def test_scripts_explain_themselves(script):
    said = subprocess.run(
        [sys.executable, BENCH / script, "--help"], capture_output=True, text=True, check=True
    )
    assert "--model" in said.stdout


def test_compare_without_a_model_says_so(tmp_path):
    said = subprocess.run(
        [sys.executable, BENCH / "compare.py", "--model", tmp_path / "none.gguf"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert said.returncode == 1
    assert "none.gguf" in said.stderr
