"""An answer cut after any token goes on as if nothing had happened: from the GPU worker to the CPU worker.

In the profile `exact`, for each way of drawing and ending. The default run takes some tokens of each;
HOMEAI_EVERY_TOKEN=1 takes every one.
"""

from __future__ import annotations

import os

import pytest

from homeai.domain.request import Sampling
from homeai.proof.device.control import SimulatedGpu
from homeai.tools.grammar import calls_grammar
from homeai.tools.offer import Offer, Tool
from tests.fakes.worker_client import WorkerClient

TOKENS = 64
STRIDE = 1 if os.environ.get("HOMEAI_EVERY_TOKEN") else 13
STORY = [{"role": "user", "content": "Erzähle von Käse, Öl und 🙂 Smileys. Tell a story."}]
JSON = (
    'root ::= "{" ws "\\"name\\"" ws ":" ws string "," ws "\\"ages\\"" ws ":" ws "[" ws number '
    '("," ws number)* "]" ws "}"\n'
    'string ::= "\\"" [a-zA-ZäöüÄÖÜß ]* "\\""\nnumber ::= [0-9]+\nws ::= [ \\n]?\n'
)
EMOJI = Sampling(seed=4, temperature=1.3, top_k=0, top_p=1.0, min_p=0.0)
WEATHER = Tool(
    "weather",
    {
        "type": "object",
        "properties": {"city": {"type": "string", "maxLength": 30}, "days": {"type": "integer"}},
        "required": ["city", "days"],
        "additionalProperties": False,
    },
)
WAYS = {
    "greedy": {"sampling": Sampling(temperature=0)},
    "seeded": {"sampling": Sampling(seed=7)},
    "penalties": {
        "sampling": Sampling(
            seed=3, repeat_penalty=1.2, frequency_penalty=0.5, presence_penalty=0.3
        )
    },
    "grammar": {"sampling": Sampling(seed=5), "grammar": JSON},
    "stop string": {"sampling": Sampling(seed=11), "stop": ("and the", "zebra")},
    "any bytes": {"sampling": EMOJI},
    "tool calls": {
        "sampling": Sampling(seed=2),
        "grammar": calls_grammar(Offer((WEATHER,))),
        "tools": True,
    },
}


@pytest.fixture(scope="module")
def workers(plugin, starter_model, tmp_path_factory):
    """A worker on the simulated GPU and one on the CPU."""
    device = SimulatedGpu(tmp_path_factory.mktemp("resume-device"))
    with pytest.MonkeyPatch.context() as patch:
        for name, value in device.environment().items():
            patch.setenv(name, value)
        shape = {"context_tokens": 512, "sequences": 4, "profile": "exact"}
        gpu = WorkerClient(starter_model, device="gpu", backends=[str(plugin)], **shape)
        cpu = WorkerClient(starter_model, **shape)
    assert gpu.ready.device_name == "SIMGPU0"
    yield gpu, cpu
    gpu.close()
    cpu.close()


@pytest.mark.timeout(600)
@pytest.mark.parametrize("way", WAYS)
def test_the_joined_answer_is_the_undisturbed_one_wherever_it_was_cut(workers, way):
    gpu, cpu = workers
    asked = {**WAYS[way], "max_tokens": TOKENS}
    ids = gpu.ids(STORY)
    whole = gpu.generate(ids, client="whole", **asked)
    sent = _sent_after_each_token(whole)
    cuts = [k for k in range(len(whole.ids)) if k % STRIDE == 0 or k == len(whole.ids) - 1]

    for begin in range(0, len(cuts), 4):
        some = cuts[begin : begin + 4]
        tickets = [
            cpu.submit(
                ids, client=f"c{k}", accepted=whole.ids[:k], sent_chars=len(sent[k]), **asked
            )
            for k in some
        ]
        for k, rest in zip(some, cpu.wait(*tickets), strict=True):
            assert whole.ids[:k] + rest.ids == whole.ids, f"cut after {k}"
            assert sent[k] + rest.text == whole.text, f"cut after {k}"
            assert rest.done.reason == whole.done.reason


def _sent_after_each_token(whole) -> list[str]:
    """The text that was out after k tokens, for each k: what a client had when the GPU died there."""
    return [
        "".join(text for index, text in whole.pieces if index < length)
        for length in range(len(whole.ids) + 1)
    ]
