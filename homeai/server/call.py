"""One HTTP request as the doors see it, after the guards let it in."""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass
from typing import Any

from homeai.domain.errors import BadRequest, PayloadTooLarge, RequestTimeout
from homeai.domain.stream import Finished
from homeai.server.http import ClientGone, Receive, Scope, Send, header, headers_of, send_whole
from homeai.server.jsonbody import decode_object

BODY_PAUSE_S, BODY_TOTAL_S = 30.0, 120.0
MAX_DEADLINE_S = 86_400.0
FALLBACKS = ("auto", "ask", "never")
_NUMBER = re.compile(rb"\d{1,9}(?:\.\d{1,6})?")


@dataclass(slots=True)
class Call:
    """An HTTP request.

    Attributes:
        request_id: For life.
        client: Name of the key, `desktop`, or `local…`.
        max_body_bytes: Larger bodies are refused.
        path_value: What the route's `{…}` matched.
    """

    scope: Scope
    receive: Receive
    send: Send
    request_id: str
    client: str
    max_body_bytes: int
    path_value: str = ""

    def header(self, name: str) -> bytes | None:
        """Return the first header of that lower-case name."""
        return header(self.scope, name.encode())

    def deadline_s(self) -> float | None:
        """Seconds the client waits, from its headers; None = it does not say.

        Raises:
            BadRequest: A value that is no number.
        """
        for name, scale in (("homeai-deadline-ms", 1000.0), ("x-stainless-read-timeout", 1.0)):
            value = self.header(name)
            if value is None:
                continue
            if _NUMBER.fullmatch(value) and 0 < float(value) / scale <= MAX_DEADLINE_S:
                return float(value) / scale
            if scale != 1.0:
                text = f"{name}: a number of milliseconds above 0 is needed."
                raise BadRequest(text, param=name)
        return None

    def fallback(self) -> str | None:
        """What the client wants when the GPU cannot answer, from its header; None = it does not say.

        Raises:
            BadRequest: Another word.
        """
        value = self.header("homeai-fallback")
        if value is None:
            return None
        word = value.decode("latin-1").strip().lower()
        if word not in FALLBACKS:
            text = f"HomeAI-Fallback: {', '.join(FALLBACKS)} are allowed."
            raise BadRequest(text, param="HomeAI-Fallback")
        return word

    @property
    def is_owner(self) -> bool:
        """Whether a program of this computer asks, rather than a device on the LAN."""
        return self.client.partition(":")[0] in ("desktop", "local")

    async def json_object(self) -> dict[str, Any]:
        """Read and decode the body.

        Raises:
            BadRequest: Not JSON, not sent as JSON.
            PayloadTooLarge: Larger than allowed.
            RequestTimeout: It comes too slowly.
            ClientGone: The connection ended.
        """
        kind = (self.header("content-type") or b"").split(b";")[0].strip().lower()
        if kind != b"application/json" and not kind.endswith(b"+json"):
            # also keeps web pages from posting without asking first
            raise BadRequest("The content type must be application/json.")
        if (self.header("content-encoding") or b"identity").lower() != b"identity":
            raise BadRequest("Compressed bodies are not supported.")
        return decode_object(await self.body())

    async def body(self) -> bytes:
        """Read the body; errors as in `json_object`."""
        length = self.header("content-length")
        if length is not None and length.isdigit() and int(length) > self.max_body_bytes:
            raise self._too_large()
        data = bytearray()
        try:
            async with asyncio.timeout(BODY_TOTAL_S):
                while True:
                    async with asyncio.timeout(BODY_PAUSE_S):
                        message = await self.receive()
                    if message["type"] == "http.disconnect":
                        raise ClientGone
                    data += message.get("body", b"")
                    if len(data) > self.max_body_bytes:
                        raise self._too_large()
                    if not message.get("more_body", False):
                        return bytes(data)
        except TimeoutError:
            raise RequestTimeout("The body came too slowly.") from None

    def _too_large(self) -> PayloadTooLarge:
        mib = self.max_body_bytes // 2**20
        return PayloadTooLarge(f"The body is larger than {mib} MiB (server.max_body_mib).")

    async def send_answer(self, body: bytes, finished: Finished) -> None:
        """Send a whole answer with the headers that tell where it came from."""
        device = str(finished.facts.get("device", "cpu"))
        attempts = str(len(finished.facts.get("attempts", ())) or 1)
        extra = [("homeai-device", device), ("homeai-attempts", attempts)]
        if finished.facts.get("reason"):
            extra.append(("homeai-degraded", str(finished.facts["reason"])))
        if estimate := finished.facts.get("estimate_ms"):
            extra.append(("homeai-estimate-ms", str(estimate["p50"])))
        await send_whole(self.send, 200, headers_of(self.request_id, extra), body)
