"""Each way in which a file is no usable model has its own sentence."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from homeai.models.facts import inspect
from homeai.models.gguf import read_header
from homeai.models.problems import ModelFileError
from tests.fakes.gguf import half_zeroed, patched, tiny, truncated


def problem(path) -> ModelFileError:
    with pytest.raises(ModelFileError) as caught:
        inspect(path)
    assert str(path.parent) not in caught.value.message
    return caught.value


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "empty"),
        (b"<!DOCTYPE html><html>", "web page"),
        (b"version https://git-lfs.github.com/spec/v1\n", "Git LFS"),
        (b"PK\x03\x04" + bytes(30), "ZIP"),
        (b"\x80\x02}q\x00", "pickle"),
        (struct.pack("<Q", 64) + b'{"__metadata__":{}}', "safetensors"),
        (b'{"a": 1}', "JSON"),
        (bytes(64), "zeros"),
        (b"ggml" + bytes(32), "old GGML"),
        (b"something else", "no GGUF"),
    ],
)
def test_what_is_no_gguf_is_named(tmp_path, content, words):
    path = tmp_path / "x.gguf"
    path.write_bytes(content)

    error = problem(path)

    assert error.code == "not_gguf"
    assert words in error.message


def test_a_missing_file_is_unreadable(tmp_path):
    assert problem(tmp_path / "no.gguf").code == "unreadable"


@pytest.mark.parametrize("size", [4, 10, 23, 24, 60, 100])
def test_a_file_that_ends_in_its_header_is_truncated(tmp_path, size):
    whole = tiny(tmp_path / "a.gguf").read_bytes()
    path = tmp_path / "b.gguf"
    path.write_bytes(whole[:size])

    assert problem(path).code == "truncated"


def test_missing_data_is_told_with_the_numbers(tmp_path):
    error = problem(tiny(tmp_path / "a.gguf", data=b"\1" * 100))

    assert error.code == "truncated"
    assert " bytes" in error.message


def test_versions_and_byte_orders_have_their_own_sentences(tmp_path):
    assert problem(tiny(tmp_path / "a.gguf", version=9)).code == "unsupported_version"
    assert problem(tiny(tmp_path / "b.gguf", version=3 << 24)).code == "big_endian"


def test_unknown_architectures_projectors_and_adapters_are_told_apart(tmp_path):
    unknown = problem(tiny(tmp_path / "a.gguf", general__architecture="frobnitz"))
    projector = problem(tiny(tmp_path / "b.gguf", general__architecture="clip"))
    adapter = problem(tiny(tmp_path / "c.gguf", general__type="adapter"))

    assert (unknown.code, "frobnitz" in unknown.message) == ("unknown_architecture", True)
    assert "projector" in projector.message
    assert "LoRA" in adapter.message


def test_a_file_without_vocabulary_is_no_model(tmp_path):
    assert problem(tiny(tmp_path / "a.gguf", tokenizer__ggml__tokens=None)).code == "no_vocabulary"


def test_a_split_model_needs_all_its_parts_and_is_opened_by_the_first(tmp_path):
    first = tmp_path / "m-00001-of-00002.gguf"
    tiny(first, split__count=2, split__no=0)
    assert "part 2" in problem(first).message

    second = tiny(tmp_path / "m-00002-of-00002.gguf", split__count=2, split__no=1)
    assert "use part 1" in problem(second).message
    assert inspect(first).size_bytes == first.stat().st_size + second.stat().st_size


def test_hostile_counts_cost_no_memory(tmp_path):
    path = tmp_path / "x.gguf"
    path.write_bytes(b"GGUF" + struct.pack("<IQQ", 3, 2**60, 2**60) + bytes(100))
    assert problem(path).code == "damaged"

    huge_array = struct.pack("<Q", 1) + b"a" + struct.pack("<IIQ", 9, 8, 2**50)
    path.write_bytes(b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + huge_array)
    assert problem(path).code == "truncated"


@given(st.binary(max_size=400))
def test_random_bytes_after_the_magic_only_ever_give_a_model_file_error(tmp_path_factory, data):
    path = tmp_path_factory.mktemp("fuzz") / "x.gguf"
    path.write_bytes(b"GGUF\3\0\0\0" + data)

    with pytest.raises(ModelFileError):
        inspect(path)


def test_the_starter_model_is_understood(starter_model):
    facts = inspect(starter_model)

    assert (facts.architecture, facts.quantisation) == ("llama", "Q4_1")
    assert facts.chat_template
    assert not facts.embeds
    assert facts.kv_bytes(8192) == 180 * 2**20


def test_damaged_copies_of_the_starter_model_are_found(starter_model, tmp_path):
    assert problem(truncated(starter_model, tmp_path / "a.gguf", 0.5)).code == "truncated"
    assert problem(half_zeroed(starter_model, tmp_path / "b.gguf")).code == "damaged"


def test_patched_copies_keep_their_data(starter_model, tmp_path):
    copy = patched(starter_model, tmp_path / "p.gguf", set={"llama.pooling_type": 1})

    assert inspect(copy).embeds
    assert len(read_header(copy).tensors) == len(read_header(starter_model).tensors)
