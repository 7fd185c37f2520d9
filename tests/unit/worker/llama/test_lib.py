"""The native interface is what this version of the code was written for.

llama.cpp's structs and argument lists change between releases; a silent change would corrupt memory.
"""

import importlib.metadata

import llama_cpp.llama_cpp as c  # noqa: TID253
import pytest

from homeai.worker.llama import lib
from homeai.worker.llama.lib import NativeLog

USED_MODEL_FIELDS = {
    "n_gpu_layers",
    "split_mode",
    "main_gpu",
    "progress_callback",
    "use_extra_bufts",
}
USED_CONTEXT_FIELDS = {
    "n_ctx",
    "n_batch",
    "n_ubatch",
    "n_seq_max",
    "n_outputs_max",
    "n_threads",
    "n_threads_batch",
    "flash_attn_type",
    "type_k",
    "type_v",
    "kv_unified",
    "swa_full",
    "embeddings",
    "no_perf",
}
ARGUMENTS = {
    "llama_model_load_from_file": 2,
    "llama_init_from_model": 2,
    "llama_decode": 2,
    "llama_tokenize": 7,
    "llama_token_to_piece": 6,
    "llama_memory_seq_rm": 4,
    "llama_memory_seq_cp": 5,
    "llama_sampler_init_grammar": 3,
    "llama_sampler_accept": 2,
    "llama_sampler_apply": 2,
    "llama_get_logits": 1,
    "llama_get_embeddings_seq": 2,
    "llama_model_meta_val_str": 4,
}


def test_the_pinned_version_is_installed():
    assert importlib.metadata.version("llama-cpp-python") == "0.3.36"


def test_structs_have_the_fields_that_are_used():
    model = {name for name, *_ in c.llama_model_params._fields_}
    context = {name for name, *_ in c.llama_context_params._fields_}

    assert model >= USED_MODEL_FIELDS
    assert context >= USED_CONTEXT_FIELDS


@pytest.mark.parametrize(("name", "count"), ARGUMENTS.items(), ids=list(ARGUMENTS))
def test_functions_take_the_arguments_that_are_passed(name, count):
    assert len(getattr(c._lib, name).argtypes) == count


def test_native_errors_reach_our_log_and_not_the_packages_own():
    lib.LOG.clear()

    assert not c.llama_model_load_from_file(b"/nonexistent.gguf", c.llama_model_default_params())

    assert "failed to open GGUF" in lib.LOG.errors()


def test_pieces_of_a_native_line_are_joined_and_debug_is_dropped():
    log = NativeLog()

    for level, text in [(4, b"failed "), (5, b"to allocate\n"), (1, b"noise"), (5, b" more noise")]:
        log.append(level, text)

    assert log.errors() == "failed to allocate\n"
    assert "noise" not in log.text()
