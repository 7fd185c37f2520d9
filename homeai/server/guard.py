"""Who is let in: Host, Origin, key. One ASGI layer around all routes."""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import logging
import re
import time
import traceback
import uuid
from collections.abc import Awaitable, Callable
from pathlib import PurePath
from typing import Protocol

from homeai.domain.errors import (
    BadRequest,
    ForbiddenHost,
    ForbiddenOrigin,
    HomeAIError,
    InvalidApiKey,
)
from homeai.server.closing import Closing
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
)
from homeai.settings.keys import KeyFileError

logger = logging.getLogger(__name__)

_REQUEST_ID = re.compile(rb"[\x21-\x7e]{1,128}")
_OPEN_PATHS = frozenset({"/live"})
_SAFE_SITES = frozenset({b"same-origin", b"same-site", b"none"})
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
_PREFLIGHT_S = 600
_HEADER_NAMES = re.compile(rb"[A-Za-z0-9_, -]{1,2000}")
_EXPOSED = (
    b"x-request-id, homeai-device, homeai-attempts, homeai-degraded, homeai-estimate-ms, "
    b"retry-after, x-should-retry"
)
_MOST_KEYS = 4
_NO_SNIFFING = (b"x-content-type-options", b"nosniff")


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
        closing: Tells open streams that the service stops.
        lan: Then every request needs a key. Without it, one from another computer does, should it
            ever arrive.
    """

    def __init__(
        self,
        inner: Inner,
        rules: HostRules,
        keys: Keys,
        local_token: bytes,
        closing: Closing,
        *,
        lan: bool,
    ) -> None:
        self._inner, self._rules, self._keys = inner, rules, keys
        self._token, self._lan = hashlib.sha256(local_token).digest(), lan
        self._broken_keys_told = False
        self.closing = closing

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
                message["headers"] = [*message["headers"], _NO_SNIFFING, *self._cors(scope)]
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
        except Exception as error:  # noqa: BLE001 -- the last resort: every request gets an answer
            # the message of an unexpected error, and so a traceback, could hold a prompt
            logger.error("request failed id=%s at=%s", request_id, places(error))  # noqa: TRY400
            if not status:
                await send_error(watched, request_id, HomeAIError("Something went wrong here."))
        finally:
            took_ms = (time.perf_counter() - began) * 1000
            route = scope.get("route", "?")  # the template, never the address itself
            logger.info(
                "request %s %s status=%d ms=%.1f client=%s id=%s",
                scope["method"] if scope["method"] in _METHODS else "OTHER",
                route, status, took_ms, client, request_id,
            )  # fmt: skip

    def _check_host(self, scope: Scope) -> None:
        hosts = [value for name, value in scope["headers"] if name == b"host"]
        if len(hosts) != 1:
            raise BadRequest("Exactly one Host header is needed.")
        names = [hosts[0].decode("latin-1")]
        if not scope["path"].startswith("/"):
            names += _take_absolute_target(scope)
        if not all(map(self._rules.knows, names)):
            raise ForbiddenHost(
                "The Host header names no address of this computer. "
                "Add the name to server.allowed_hosts if it is yours."
            )

    def _check_origin(self, scope: Scope) -> None:
        origin = header(scope, b"origin")
        if origin is not None:
            host = (header(scope, b"host") or b"").decode("latin-1")
            if not self._rules.allows_origin(origin.decode("latin-1"), host):
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
            (b"access-control-expose-headers", _EXPOSED),
            (b"vary", b"Origin"),
        ]

    async def _preflight(self, scope: Scope, send: Send, request_id: str) -> None:
        scope["route"] = "preflight"
        self._check_origin(scope)
        headers = headers_of(request_id, [("allow", "GET, POST, PUT, PATCH, DELETE, OPTIONS")])
        if self._cors(scope):
            headers += [
                (b"access-control-allow-methods", b"GET, POST, PUT, PATCH, DELETE"),
                (b"access-control-max-age", str(_PREFLIGHT_S).encode()),
            ]  # fmt: skip
            wanted = header(scope, b"access-control-request-headers") or b""
            if _HEADER_NAMES.fullmatch(wanted):  # SDKs in a page add headers of their own
                headers.append((b"access-control-allow-headers", wanted))
            if header(scope, b"access-control-request-private-network") == b"true":
                headers.append((b"access-control-allow-private-network", b"true"))
        await send({"type": "http.response.start", "status": 204, "headers": headers})
        await send({"type": "http.response.body", "body": b""})

    def _name_of(self, key: bytes) -> str | None:
        try:
            return self._keys.match(key)
        except KeyFileError as error:  # nobody is let in by a broken file
            if not self._broken_keys_told:
                self._broken_keys_told = True
                logger.error("keys cannot be read why=%s", error)  # noqa: TRY400
            return None

    def _client(self, scope: Scope) -> str:
        """Return whose request this is.

        Raises:
            InvalidApiKey: A key is needed and none that is known was shown.
        """
        presented = _presented_keys(scope)
        for key in presented:
            if hmac.compare_digest(hashlib.sha256(key).digest(), self._token):
                return "desktop"
            name = self._name_of(key)
            if name is not None:
                return name
        if not self._lan and _is_this_computer(scope):
            # on loopback any program of this computer may ask; what it shows as a key still tells
            # programs apart, so that none can see into another's cache
            return f"local:{hashlib.sha256(presented[0]).hexdigest()[:8]}" if presented else "local"
        if scope["path"] in _OPEN_PATHS:
            return "anyone"
        if not presented:
            raise InvalidApiKey("An API key is needed: `Authorization: Bearer KEY`.")
        raise InvalidApiKey("The API key is not known.")


def _request_id(scope: Scope) -> str:
    given = header(scope, b"x-request-id")
    if given is not None and _REQUEST_ID.fullmatch(given):
        return given.decode("ascii")
    return uuid.uuid4().hex


def _take_absolute_target(scope: Scope) -> list[str]:
    """RFC 9112 §3.2.2: the target may be a whole address; return its host, which counts as well."""
    scheme, found, rest = scope["path"].partition("://")
    if not found or scheme.lower() not in ("http", "https"):
        return []
    host, _, path = rest.partition("/")
    scope["path"] = "/" + path
    return [host]


def _presented_keys(scope: Scope) -> list[bytes]:
    """The keys a client shows, as raw bytes; some send a placeholder beside the real one."""
    keys = []
    for name, value in scope["headers"]:
        if name == b"authorization":
            scheme, _, secret = value.strip().partition(b" ")
            if scheme.lower() == b"bearer":
                keys.append(secret.strip())
        elif name == b"x-api-key":
            keys.append(value.strip())
    return [key for key in keys if key][:_MOST_KEYS]


def _is_this_computer(scope: Scope) -> bool:
    peer = scope.get("client")
    try:
        address = ipaddress.ip_address(peer[0].partition("%")[0]) if peer else None
    except ValueError:
        return False
    mapped = getattr(address, "ipv4_mapped", None)  # an IPv6 socket shows 127.0.0.1 so
    return address is not None and (mapped or address).is_loopback


def places(error: BaseException) -> str:
    """Type of an error and the last places it went through, without its message."""
    if isinstance(error, BaseExceptionGroup):
        return f"{type(error).__name__}[{', '.join(map(places, error.exceptions))}]"
    frames = reversed(traceback.extract_tb(error.__traceback__)[-5:])
    return f"{type(error).__name__} " + " < ".join(
        f"{PurePath(frame.filename).name}:{frame.lineno}" for frame in frames
    )
