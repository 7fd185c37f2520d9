import struct
from itertools import pairwise
from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from homeai.domain.request import ChatPrompt, Sampling, TextPrompt, TokenPrompt
from homeai.domain.stream import TokenLogprob
from homeai.protocol import messages as m
from homeai.protocol import tokens
from homeai.protocol.framing import MAX_FRAME_BYTES, FrameDecoder, FrameError, encode

_ID = st.integers(-(2**31), 2**31 - 1)
_TICKET = st.integers(0, 2**63 - 1)
_IDS = st.lists(_ID, max_size=20).map(tokens.ids_to_bytes)
_REAL = st.floats(allow_nan=False)
_WORDS = st.text(max_size=30)
_SAMPLING = st.builds(
    Sampling,
    logit_bias=st.dictionaries(_ID, _REAL, max_size=3),
    temperature=_REAL,
    seed=st.integers(0, 2**64 - 1),
)
_PROMPT = st.one_of(
    st.builds(TextPrompt, _WORDS),
    st.builds(TokenPrompt, st.lists(_ID, max_size=5)),
    st.builds(
        ChatPrompt, st.lists(st.fixed_dictionaries({"role": _WORDS, "content": _WORDS}), max_size=3)
    ),
)
_LOGPROB = st.builds(
    TokenLogprob,
    _ID,
    st.binary(max_size=4),
    _REAL,
    st.lists(st.tuples(_ID, st.binary(max_size=4), _REAL), max_size=2),
)
_PIECE = st.builds(
    m.Piece,
    _TICKET,
    st.integers(0, 2**31),
    st.lists(_ID, max_size=3),
    _WORDS,
    st.none() | st.lists(_LOGPROB, max_size=2),
)


def _part(kind, **fields):
    return kind, fields


_TO_WORKER_PARTS = [
    _part(m.Load, path=_WORDS, context_tokens=st.integers(1, 2**31)),
    _part(m.Prepare, ticket=_TICKET, prompt=_PROMPT, logit_bias_ids=st.lists(_ID, max_size=3)),
    _part(m.Submit, ticket=_TICKET, client=_WORDS, prompt_ids=_IDS, max_tokens=st.integers(0, 2**31), sampling=_SAMPLING,
              stop=st.lists(_WORDS, max_size=3).map(tuple), grammar=st.none() | _WORDS, accepted_ids=_IDS),
    _part(m.Embed, ticket=_TICKET, inputs=st.lists(_IDS, max_size=3)),
    _part(m.Cancel, ticket=_TICKET),
    _part(m.Detokenize, ticket=_TICKET, ids=_IDS),
    _part(m.Arm),
    _part(m.Disarm),
    _part(m.Stop),
]  # fmt: skip
_FROM_WORKER_PARTS = [
    _part(m.Hello, pid=st.integers(0, 2**31)),
    _part(m.Loading, fraction=_REAL),
    _part(m.StandingBy, weights_bytes=st.none() | _TICKET),
    _part(m.Ready, context_tokens=_TICKET, train_context_tokens=_TICKET, sequences=_TICKET, vocab=_TICKET, kv_bytes=st.none() | _TICKET),
    _part(m.LoadFailed, code=_WORDS, message=_WORDS, stage=_WORDS),
    _part(m.Prepared, ticket=_TICKET, prompt_ids=_IDS, text=st.none() | _WORDS),
    _part(m.Refused, ticket=_TICKET, code=_WORDS, message=_WORDS, param=st.none() | _WORDS),
    _part(m.Started, ticket=_TICKET, cached_tokens=_TICKET),
    _part(m.Step, pieces=st.lists(_PIECE, max_size=3)),
    _part(m.Done, ticket=_TICKET, reason=_WORDS, prompt_tokens=_TICKET, completion_tokens=_TICKET, cached_tokens=_TICKET, prefill_s=_REAL, decode_s=_REAL),
    _part(m.Embedded, ticket=_TICKET, vectors=st.lists(st.binary(max_size=8), max_size=2)),
    _part(m.Detokenized, ticket=_TICKET, text=_WORDS),
    _part(m.Heartbeat, steps=_TICKET, in_flight=_TICKET, rss_bytes=st.none() | _TICKET),
    _part(m.Fatal, code=_WORDS, message=_WORDS, status=st.none() | _ID),
]  # fmt: skip
_TO_WORKER = st.one_of([st.builds(kind, **fields) for kind, fields in _TO_WORKER_PARTS])
_FROM_WORKER = st.one_of([st.builds(kind, **fields) for kind, fields in _FROM_WORKER_PARTS])


def _cut(data: bytes, cuts: list[int]) -> list[bytes]:
    edges = [0, *sorted(cut % (len(data) + 1) for cut in cuts), len(data)]
    return [data[start:end] for start, end in pairwise(edges)]


def test_every_message_of_both_directions_is_drawn_here():
    assert {kind for kind, _ in _TO_WORKER_PARTS} == set(get_args(m.ToWorker))
    assert {kind for kind, _ in _FROM_WORKER_PARTS} == set(get_args(m.FromWorker))


@settings(max_examples=200, deadline=None)
@given(st.lists(_TO_WORKER, max_size=6), st.lists(st.integers(0, 2**16), max_size=12))
def test_what_the_core_sends_arrives_however_it_is_cut(sent, cuts):
    _check_round_trip(FrameDecoder(m.ToWorker), sent, cuts)


@settings(max_examples=200, deadline=None)
@given(st.lists(_FROM_WORKER, max_size=6), st.lists(st.integers(0, 2**16), max_size=12))
def test_what_a_worker_sends_arrives_however_it_is_cut(sent, cuts):
    _check_round_trip(FrameDecoder(m.FromWorker), sent, cuts)


def _check_round_trip(decoder: FrameDecoder, sent: list, cuts: list[int]) -> None:
    stream = b"".join(map(encode, sent))
    assert [message for part in _cut(stream, cuts) for message in decoder.feed(part)] == sent


@given(_FROM_WORKER)
def test_a_message_arrives_byte_by_byte_and_only_with_its_last_byte(message):
    decoder = FrameDecoder(m.FromWorker)
    frame = encode(message)
    for byte in frame[:-1]:
        assert decoder.feed(bytes([byte])) == []
    assert decoder.feed(frame[-1:]) == [message]


def _feed_garbage(decoder: FrameDecoder, parts: list[bytes]) -> None:
    """Anything but a message or a FrameError fails the test by itself."""
    for part in parts:
        try:
            received = decoder.feed(part)
        except FrameError:
            return
        assert all(isinstance(message, get_args(m.FromWorker)) for message in received)


@settings(max_examples=300, deadline=None)
@given(st.lists(st.binary(max_size=60), max_size=6))
def test_garbage_is_never_worse_than_a_frame_error(parts):
    _feed_garbage(FrameDecoder(m.FromWorker), parts)


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=60))
def test_a_frame_with_a_garbage_body_is_never_worse_than_a_frame_error(body):
    _feed_garbage(FrameDecoder(m.FromWorker), [struct.pack("<I", len(body)) + body])


@settings(max_examples=300, deadline=None)
@given(_FROM_WORKER, st.integers(0, 2**16), st.integers(1, 255))
def test_one_damaged_byte_is_never_worse_than_a_frame_error(message, at, change):
    frame = bytearray(encode(message))
    frame[at % len(frame)] ^= change
    _feed_garbage(FrameDecoder(m.FromWorker), [bytes(frame)])


@given(_TO_WORKER)
def test_a_message_of_the_other_direction_is_refused(message):
    with pytest.raises(FrameError):
        FrameDecoder(m.FromWorker).feed(encode(message))


@pytest.mark.parametrize(
    "body",
    [b"\xdc\xff\xff" * 5, b"\x91" * 100_000, b"\x81\xa1t" * 50_000, b"\xdd\xff\xff\xff\xff", b"\xdb\xff\xff\xff\xff", b"\xc1"],
    ids=["short arrays", "deep arrays", "deep maps", "four billion items", "four billion bytes", "never used"],
)  # fmt: skip
def test_hostile_bodies_are_frame_errors(body):
    with pytest.raises(FrameError):
        FrameDecoder(m.FromWorker).feed(struct.pack("<I", len(body)) + body)


def test_a_deeply_nested_field_is_a_frame_error():
    """`Any` fields hold whatever was sent; the depth of it is bounded."""
    body = (
        b"\x83\xa1t\xa7prepare\xa6ticket\x01\xa6prompt\x82\xa4type\xa4chat\xa8messages\x91\x81\xa1a"
        + b"\x91" * 100_000
    )
    with pytest.raises(FrameError):
        FrameDecoder(m.ToWorker).feed(struct.pack("<I", len(body)) + body)


@given(st.integers(MAX_FRAME_BYTES + 1, 2**32 - 1))
def test_a_length_beyond_the_limit_is_refused_before_its_body_comes(length):
    with pytest.raises(FrameError, match=str(length)):
        FrameDecoder(m.FromWorker).feed(struct.pack("<I", length))


def test_a_message_beyond_the_limit_is_not_sent():
    with pytest.raises(FrameError, match="larger than"):
        encode(m.Detokenized(ticket=1, text="x" * (MAX_FRAME_BYTES + 1)))


@settings(max_examples=60)
@given(st.lists(_FROM_WORKER, min_size=1, max_size=3), st.binary(max_size=20))
def test_messages_before_a_broken_frame_are_not_lost(good, garbage):
    """A worker's last words must reach the core even when rubbish follows in the same read."""
    decoder = FrameDecoder(m.FromWorker)
    stream = b"".join(map(encode, good)) + struct.pack("<I", len(garbage) + 1) + b"\xc1" + garbage
    assert decoder.feed(stream) == good
    with pytest.raises(FrameError):
        decoder.feed(b"")


@given(st.lists(_ID, max_size=50))
def test_token_ids_survive_packing(ids):
    packed = tokens.ids_to_bytes(ids)
    assert tokens.bytes_to_ids(packed) == ids
    assert packed == struct.pack(f"<{len(ids)}i", *ids)
