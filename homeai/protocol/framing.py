"""Length-prefixed frames: a 4-byte little-endian length, then one msgpack-encoded message."""

from __future__ import annotations

import struct
from typing import Generic, TypeVar

import msgspec

MAX_FRAME_BYTES = 64 * 2**20
"""Larger frames are refused: no honest message comes near, a broken stream would."""

_LENGTH = struct.Struct("<I")
_encoder = msgspec.msgpack.Encoder()

M = TypeVar("M")


class FrameError(ValueError):
    """The byte stream is not a sequence of valid frames; the connection is useless from here on."""


def encode(message: msgspec.Struct) -> bytes:
    """Return the frame that carries `message`.

    Raises:
        FrameError: The message is larger than `MAX_FRAME_BYTES`.
    """
    frame = bytearray(_LENGTH.size)
    _encoder.encode_into(message, frame, _LENGTH.size)
    size = len(frame) - _LENGTH.size
    if size > MAX_FRAME_BYTES:
        msg = f"message of {size} bytes is larger than {MAX_FRAME_BYTES}"
        raise FrameError(msg)
    _LENGTH.pack_into(frame, 0, size)
    return bytes(frame)


class FrameDecoder(Generic[M]):
    """Turns bytes, cut anywhere, into messages.

    Args:
        message_type: Union of tagged structs that may arrive.
    """

    def __init__(self, message_type: type[M]) -> None:
        self._decoder: msgspec.msgpack.Decoder[M] = msgspec.msgpack.Decoder(message_type)
        self._buffer = bytearray()
        self._error: FrameError | None = None

    def feed(self, data: bytes) -> list[M]:
        """Return the messages that `data` completes, in order.

        Messages before a broken frame still count: they are returned, and the next call raises.

        Raises:
            FrameError: A length beyond the limit or a body that is no known message; again at each call
                from then on.
        """
        messages: list[M] = []
        if self._error is None:
            try:
                self._decode(data, messages)
            except FrameError as error:
                self._error = error
                self._buffer.clear()
        if self._error is not None and not messages:
            raise self._error
        return messages

    def _decode(self, data: bytes, messages: list[M]) -> None:
        self._buffer += data
        start = 0
        while len(self._buffer) - start >= _LENGTH.size:
            (size,) = _LENGTH.unpack_from(self._buffer, start)
            if size > MAX_FRAME_BYTES:
                msg = f"frame of {size} bytes is larger than {MAX_FRAME_BYTES}"
                raise FrameError(msg)
            end = start + _LENGTH.size + size
            if len(self._buffer) < end:
                break
            body = bytes(self._buffer[start + _LENGTH.size : end])
            try:
                messages.append(self._decoder.decode(body))
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
                # RecursionError: fields of any type hold what the other side sent, however deep.
                msg = f"frame is no known message: {error}"
                raise FrameError(msg) from error
            start = end
        del self._buffer[:start]
