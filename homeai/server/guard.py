"""Who is let in: Host, Origin, key. One ASGI layer around all routes."""

from __future__ import annotations

import hashlib
import hmac
import logging
import re
import time
import uuid
from collections.abc import Awaitable, Callable
from typing import Protocol

from homeai.domain.errors import (
    BadRequest,
    ForbiddenHost,
    ForbiddenOrigin,
    HomeAIError,
    InvalidApiKey,
)
from homeai.server.hosts import HostRules
from homeai.server.http import (
    ClientGone,
    Message,
    Receive,
    Scope,
    Send,
    header,
    headers_of,
    send_error,
    send_whole,
)

logger = logging.getLogger(__name__)

_REQUEST_ID = re.compile(rb"[\x21-\x7e]{1,128}")
_OPEN_PATHS = frozenset({"/live"})
_SAFE_SITES = frozenset({b"same-origin", b"same-site", b"none"})
_PREFLIGHT_S = 600
_ALLOWED_HEADERS = b", ".join(
    (b"authorization", b"content-type", b"x-api-key", b"x-request-id", b"idempotency-key",
     b"homeai-deadline-ms", b"homeai-fallback", b"last-event-id")
)  # fmt: skip


class Keys(Protocol):
    """Where keys are looked up."""

    def match(self, presented: bytes) -> str | None:
        """Return the name of the key, or None."""
        ...


Inner = Callable[[Scope, Receive, Send, str, str], Awaitable[None]]


class Guard:
    """Lets requests through to `inner(scope, receive, send, request_id, client)`.

    Args:
        inner: The routes.
        rules: Hosts and origins.
        keys: API keys.
        local_token: Secret of this user's own programs.
        lan: Then every request needs a key.
    """

    def __init__(
        self, inner: Inner, rules: HostRules, keys: Keys, local_token: bytes, *, lan: bool
    ) -> None:
        self._inner, self._rules, self._keys = inner, rules, keys
        self._token, self._lan = hashlib.sha256(local_token).digest(), lan

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """ASGI entry."""
        if scope["type"] != "http":
            return
        request_id = _request_id(scope)
        began, status = time.perf_counter(), 0
        client = "-"

        async def watched(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message["headers"], *self._cors(scope)]
            await send(message)

        try:
            self._check_host(scope)
            if scope["method"] == "OPTIONS":
                await self._preflight(scope, watched, request_id)
                return
            self._check_origin(scope)
            client = self._client(scope)
            await self._inner(scope, receive, watched, request_id, client)
        except HomeAIError as error:
            if not status:
                await send_error(watched, request_id, error)
        except ClientGone:
            pass
        except Exception:
            logger.exception("request failed request=%s", request_id)
            if not status:
                await send_error(watched, request_id, HomeAIError("Something went wrong here."))
        finally:
            took_ms = (time.perf_counter() - began) * 1000
            route = scope.get("route", "?")  # the template, never the address itself
            logger.info(
                "request %s %s status=%d ms=%.1f client=%s id=%s",
                scope["method"], route, status, took_ms, client, request_id,
            )  # fmt: skip

    def _check_host(self, scope: Scope) -> None:
        hosts = [value for name, value in scope["headers"] if name == b"host"]
        if len(hosts) != 1:
            raise BadRequest("Exactly one Host header is needed.")
        if not self._rules.knows(hosts[0].decode("latin-1")):
            raise ForbiddenHost(
                "The Host header names no address of this computer. "
                "Add the name to server.allowed_hosts if it is yours."
            )

    def _check_origin(self, scope: Scope) -> None:
        origin = header(scope, b"origin")
        if origin is not None:
            host = (header(scope, b"host") or b"").decode("latin-1")
            if not self._rules.allows_origin(origin.decode("latin-1"), host, scope["scheme"]):
                raise ForbiddenOrigin(
                    "Web pages of this origin may not ask. "
                    "Add it to server.allowed_origins if it is yours."
                )
        elif scope["method"] not in ("GET", "HEAD"):
            site = header(scope, b"sec-fetch-site")
            if site is not None and site not in _SAFE_SITES:
                raise ForbiddenOrigin("Web pages of other origins may not ask.")

    def _cors(self, scope: Scope) -> list[tuple[bytes, bytes]]:
        origin = header(scope, b"origin")
        if origin is None or not self._rules.is_listed_origin(origin.decode("latin-1")):
            return []
        return [
            (b"access-control-allow-origin", origin),
            (b"access-control-expose-headers", b"x-request-id, homeai-device, retry-after"),
            (b"vary", b"Origin"),
        ]

    async def _preflight(self, scope: Scope, send: Send, request_id: str) -> None:
        scope["route"] = "preflight"
        self._check_origin(scope)
        headers = headers_of(request_id, [("allow", "GET, POST, PUT, PATCH, DELETE, OPTIONS")])
        if self._cors(scope):
            headers += [
                (b"access-control-allow-methods", b"GET, POST, PUT, PATCH, DELETE"),
                (b"access-control-allow-headers", _ALLOWED_HEADERS),
                (b"access-control-max-age", str(_PREFLIGHT_S).encode()),
            ]  # fmt: skip
        await send_whole(send, 204, headers, b"")

    def _client(self, scope: Scope) -> str:
        """Return whose request this is.

        Raises:
            InvalidApiKey: A key is needed and none that is known was shown.
        """
        presented = _presented_key(scope)
        if presented is not None:
            if hmac.compare_digest(hashlib.sha256(presented).digest(), self._token):
                return "desktop"
            name = self._keys.match(presented)
            if name is not None:
                return name
        if not self._lan:
            # on loopback any program of this computer may ask; what it shows as a key still tells
            # programs apart, so that none can see into another's cache
            tag = "" if presented is None else hashlib.sha256(presented).hexdigest()[:8]
            return f"local:{tag}" if tag else "local"
        if scope["path"] in _OPEN_PATHS:
            return "anyone"
        if presented is None:
            raise InvalidApiKey("An API key is needed: `Authorization: Bearer KEY`.")
        raise InvalidApiKey("The API key is not known.")


def _request_id(scope: Scope) -> str:
    given = header(scope, b"x-request-id")
    if given is not None and _REQUEST_ID.fullmatch(given):
        return given.decode("ascii")
    return uuid.uuid4().hex


def _presented_key(scope: Scope) -> bytes | None:
    """The key a client shows, as raw bytes."""
    authorization = header(scope, b"authorization")
    if authorization is not None:
        scheme, _, value = authorization.partition(b" ")
        if scheme.lower() == b"bearer" and value.strip():
            return value.strip()
    return header(scope, b"x-api-key") or None
