"""Native words become our errors in one table."""

import pytest

from homeai.domain.errors import BY_CODE
from homeai.worker.llama.failures import _DECODE, _TABLE, Failure, of_decode, recognise

UNKNOWN = Failure("worker_failed", "unknown")


@pytest.mark.parametrize(
    ("native", "code"),
    [
        ("gguf_init_from_file: invalid magic characters: '<!do'", "model_invalid"),
        ("tensor 'x' data is not within the file bounds, model is corrupted", "model_invalid"),
        ("unknown model architecture: 'frob'", "model_invalid"),
        ("failed to allocate buffer for kv cache", "ram_insufficient"),
        ("alloc_tensor_range: failed to allocate CPU buffer of size 9", "ram_insufficient"),
        ("something new", "worker_failed"),
    ],
)
def test_native_text_is_recognised(native, code):
    assert recognise(native, otherwise=UNKNOWN).code == code


def test_every_code_of_the_table_is_an_error_of_the_contract():
    codes = {failure.code for _, failure in _TABLE} | {f.code for f in _DECODE.values()}

    assert codes <= BY_CODE.keys()


def test_unknown_decode_codes_are_named():
    assert "-7" in of_decode(-7).sentence
