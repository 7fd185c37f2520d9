"""All routes behind one guard, as an ASGI application."""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable

from homeai.domain.errors import MethodNotAllowed, NotFound
from homeai.server.agent_runs import AgentRuns
from homeai.server.call import Call
from homeai.server.closing import Closing
from homeai.server.guard import Guard, Keys
from homeai.server.hosts import HostRules
from homeai.server.http import Receive, Scope, Send
from homeai.server.idempotency import Idempotency
from homeai.server.openai import OpenAI
from homeai.server.own import Own
from homeai.server.ports import Core

Handler = Callable[[Call], Awaitable[None]]

_MIB = 2**20


def create_app(core: Core, rules: HostRules, keys: Keys, local_token: bytes) -> Guard:
    """Return the ASGI application.

    Args:
        core: The house.
        rules: Hosts and origins that are let in.
        keys: API keys.
        local_token: Secret of this user's own programs.
    """
    closing = Closing()
    inner = Routes(core, closing).serve
    return Guard(inner, rules, keys, local_token, closing, lan=core.settings.server.lan)


class Routes:
    """Finds the handler of a request.

    Args:
        core: The house.
        closing: Tells event streams when to end.
    """

    def __init__(self, core: Core, closing: Closing) -> None:
        self._core = core
        openai, own = OpenAI(core, lambda: secrets.randbits(63)), Own(core, closing)
        agents = AgentRuns(core, lambda: secrets.randbits(63))
        once = Idempotency(core).wrap
        self._exact: dict[str, dict[str, Handler]] = {
            "/v1/chat/completions": {"POST": once(openai.chat)},
            "/v1/completions": {"POST": once(openai.completion)},
            "/v1/embeddings": {"POST": openai.embedding},
            "/v1/models": {"GET": openai.models},
            "/live": {"GET": own.live},
            "/ready": {"GET": own.ready},
            "/health": {"GET": own.ready},
            "/metrics": {"GET": own.metrics},
            "/homeai/v1/status": {"GET": own.status},
            "/homeai/v1/events": {"GET": own.events},
            "/homeai/v1/requests": {"GET": own.requests},
            "/homeai/v1/route": {"GET": own.route, "PUT": own.route},
            "/homeai/v1/estimate": {"POST": own.estimate},
            "/homeai/v1/tools": {"GET": agents.tools},
            "/homeai/v1/agent": {"POST": once(agents.run)},
        }
        self._around: list[tuple[str, str, dict[str, Handler]]] = [
            ("/homeai/v1/requests/", "/choice", {"POST": own.choose}),
            ("/homeai/v1/requests/", "", {"GET": own.request, "DELETE": own.cancel}),
            ("/v1/models/", "", {"GET": openai.model}),
        ]

    async def serve(
        self, scope: Scope, receive: Receive, send: Send, request_id: str, client: str
    ) -> None:
        """Call the handler.

        Raises:
            NotFound: No such address.
            MethodNotAllowed: Another method is needed.
        """
        route, methods, value = self._find(scope["path"])
        scope["route"] = route
        method = "GET" if scope["method"] == "HEAD" else scope["method"]
        handler = methods.get(method)
        if handler is None:
            names = [*methods, *(["HEAD"] if "GET" in methods else []), "OPTIONS"]
            allowed = ", ".join(names)
            text = f"This address does not take that method; use {allowed}."
            raise MethodNotAllowed(text, details={"allowed": allowed})
        most = self._core.settings.server.max_body_mib * _MIB
        await handler(Call(scope, receive, send, request_id, client, most, value))

    def _find(self, path: str) -> tuple[str, dict[str, Handler], str]:
        path = path.rstrip("/") if len(path) > 1 else path
        if path in self._exact:
            return path, self._exact[path], ""
        for prefix, suffix, methods in self._around:
            if path.startswith(prefix) and path.endswith(suffix):
                value = path[len(prefix) : len(path) - len(suffix)]
                return f"{prefix}{{id}}{suffix}", methods, value
        raise NotFound("There is nothing at this address.")
