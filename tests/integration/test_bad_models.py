"""Every kind of bad file gets its own sentence, and the core stays alive."""

from __future__ import annotations

import math

import pytest

from tests.fakes.gguf import half_zeroed, patched, truncated
from tests.fakes.running_core import RunningCore


def damaged(kind: str, source, target):
    match kind:
        case "truncated":
            return truncated(source, target, 0.6)
        case "half-zeroed":
            return half_zeroed(source, target)
        case "architecture":
            return patched(source, target, set={"general.architecture": "frobnitz"})
        case "vocabulary":
            return patched(source, target, drop=["tokenizer.ggml.tokens"])
        case "metadata":
            return patched(source, target, drop=["llama.attention.head_count"])
    target.write_bytes(b"<html>not found</html>")
    return target


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("truncated", "incomplete"),
        ("half-zeroed", "blank"),
        ("architecture", "frobnitz"),
        ("vocabulary", "no vocabulary"),
        ("metadata", "do not fit its header"),
        ("web page", "web page"),
    ],
)
def test_a_bad_file_is_explained_and_the_core_lives(starter_model, tmp_path, kind, words):
    bad = damaged(kind, starter_model, tmp_path / "bad.gguf")

    with RunningCore(tmp_path / "home", bad, "model.active=bad") as core:
        status = core.status()
        code, _, body = core.chat("hello")

        assert status["state"] == "stopped"
        assert words in status["problem"]
        assert str(tmp_path) not in status["problem"]
        assert code in (404, 500)
        assert body["error"]["code"] in ("model_invalid", "model_not_found")
        assert core.request("GET", "/live")[0] == 200
        assert core.request("GET", "/ready")[0] == 503


def test_a_model_without_a_template_completes_text_but_does_not_chat(starter_model, tmp_path):
    plain = patched(starter_model, tmp_path / "plain.gguf", drop=["tokenizer.chat_template"])

    with RunningCore(tmp_path / "home", plain, "limits.context_tokens=512") as core:
        status, _, body = core.chat("hello")
        completed, _, _ = core.request("POST", "/v1/completions", {"prompt": "a", "max_tokens": 2})

    assert (status, body["error"]["code"]) == (400, "invalid_request")
    assert "chat template" in body["error"]["message"]
    assert completed == 200


def test_a_broken_template_is_told_when_somebody_chats(starter_model, tmp_path):
    broken = patched(
        starter_model, tmp_path / "b.gguf", set={"tokenizer.chat_template": "{% for %}"}
    )

    with RunningCore(tmp_path / "home", broken, "limits.context_tokens=512") as core:
        status, _, body = core.chat("hello")

    assert status == 400
    assert "template cannot be used" in body["error"]["message"]


def test_a_file_name_with_spaces_umlauts_and_emoji_serves(starter_model, tmp_path):
    name = "Mein Modell ä 😀.gguf"

    with RunningCore(
        tmp_path / "hö me", starter_model, "limits.context_tokens=512", name=name
    ) as core:
        _, _, models = core.request("GET", "/v1/models")
        status, _, _ = core.chat("hello", max_tokens=2, model="Mein Modell ä 😀")

    assert [m["id"] for m in models["data"]] == ["Mein Modell ä 😀"]
    assert status == 200


def test_an_embedding_model_gives_unit_vectors_and_refuses_to_chat(starter_model, tmp_path):
    model = patched(starter_model, tmp_path / "embed.gguf", set={"llama.pooling_type": 1})

    with RunningCore(tmp_path / "home", model, "model.active=embed") as core:
        body = {"input": ["a cat", "a kitten", "the stock market fell"]}
        status, _, answer = core.request("POST", "/v1/embeddings", body)
        chat_status, _, chat = core.chat("hello")

    assert status == 200
    vectors = [entry["embedding"] for entry in answer["data"]]
    assert {len(v) for v in vectors} == {576}
    assert all(math.isclose(sum(x * x for x in v), 1, rel_tol=1e-3) for v in vectors)
    assert answer["usage"]["prompt_tokens"] > 3
    assert chat_status == 400
    assert "embeddings" in chat["error"]["message"]
