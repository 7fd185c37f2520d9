"""Chat templates from model files: foreign programs, run in a sandbox with limits on time and size."""

from __future__ import annotations

import ctypes
import json
import threading
from collections.abc import Callable
from datetime import datetime
from typing import Any

import jinja2
from jinja2.ext import loopcontrols
from jinja2.sandbox import ImmutableSandboxedEnvironment

from homeai.domain.errors import BadRequest, ModelInvalid

TIME_LIMIT_S = 1.0
MAX_TEXT = 16 * 2**20
"""Characters a template may build; a single operation beyond it is refused before it runs."""


class _TimeIsUp(BaseException):
    """Raised inside a template that runs too long; not an Exception, so that no handler keeps it."""


class _Environment(ImmutableSandboxedEnvironment):
    """The sandbox, with single operations bounded that could run or allocate without end."""

    intercepted_binops = frozenset({"*", "**", "%"})

    def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:  # noqa: ANN401
        if operator == "**":
            raise BadRequest("The chat template uses powers, which are not allowed.")
        if operator == "*" and not _is_small_product(left, right):
            raise BadRequest("The chat template builds a text that is too long.")
        if operator == "%" and isinstance(left, str):
            raise BadRequest("The chat template uses % formatting, which is not allowed.")
        return super().call_binop(context, operator, left, right)


def _is_small_product(left: object, right: object) -> bool:
    for one, other in ((left, right), (right, left)):
        if isinstance(one, str | bytes | list | tuple):
            return isinstance(other, int) and len(one) * max(other, 0) <= MAX_TEXT
    return True


class ChatTemplate:
    """One model's template.

    Args:
        source: Jinja text from the model file.
        bos: Text of the token that begins a text, or "".
        eos: Text of the token that ends one, or "".

    Raises:
        ModelInvalid: The template is no valid Jinja; the model can still complete raw text.
    """

    def __init__(self, source: str, *, bos: str = "", eos: str = "") -> None:
        environment = _Environment(trim_blocks=True, lstrip_blocks=True, extensions=[loopcontrols])
        environment.filters["tojson"] = _to_json
        environment.globals["raise_exception"] = _raise
        for risky in ("center", "indent", "wordwrap", "format", "xmlattr", "urlize"):
            environment.filters[risky] = _bounded(environment.filters[risky])
        try:
            self._template = environment.from_string(source)
        except (jinja2.TemplateError, RecursionError) as error:
            reason = str(error).splitlines()[0][:200] if str(error) else type(error).__name__
            raise ModelInvalid(f"The model's chat template cannot be used: {reason}") from error
        self._fixed = {"bos_token": bos, "eos_token": eos}

    def render(
        self, variables: dict[str, Any], *, now: datetime, time_limit_s: float = TIME_LIMIT_S
    ) -> str:
        """Return the prompt text.

        Args:
            variables: `messages`, `tools`, `add_generation_prompt` ….
            now: For templates that name the date.
            time_limit_s: Seconds after which the template is stopped.

        Raises:
            BadRequest: The template refused the messages, failed, or ran too long.
        """

        def strftime_now(pattern: str) -> str:
            return now.strftime(str(pattern)[:100])

        values = {**self._fixed, **variables, "strftime_now": strftime_now}
        try:
            text = _limited(lambda: self._pieces(values), time_limit_s)
        except _TimeIsUp:
            raise BadRequest(
                f"The model's chat template took longer than {time_limit_s:g} s for these messages."
            ) from None
        except (BadRequest, ModelInvalid):
            raise
        except Exception as error:
            reason = str(error)[:300] or type(error).__name__
            raise BadRequest(f"The chat template refused the messages: {reason}") from error
        return text

    def _pieces(self, values: dict[str, Any]) -> str:
        parts, size = [], 0
        for part in self._template.generate(values):
            parts.append(part)
            size += len(part)
            if size > MAX_TEXT:
                raise BadRequest("The chat template builds a text that is too long.")
        return "".join(parts)


def _to_json(value: object, indent: int | None = None, **_options: object) -> str:
    return json.dumps(value, ensure_ascii=False, indent=indent)


def _raise(message: object) -> None:
    raise BadRequest(str(message)[:300])


def _bounded(function: Callable[..., Any]) -> Callable[..., Any]:
    """A filter whose numeric arguments cannot ask for more than a page of padding."""

    def call(*arguments: Any, **named: Any) -> Any:  # noqa: ANN401 -- as the filter itself
        for value in (*arguments[1:], *named.values()):
            if isinstance(value, int) and abs(value) > 1000:
                raise BadRequest("The chat template asks for too much padding.")
        return function(*arguments, **named)

    for mark in ("jinja_pass_arg",):  # filters that want the environment keep getting it
        if hasattr(function, mark):
            setattr(call, mark, getattr(function, mark))
    return call


def _limited(call: Callable[[], str], seconds: float) -> str:
    """Run `call` in this thread and stop it by an exception after `seconds`.

    Jinja compiles to Python, so an exception set from outside arrives at the next bytecode; single
    long operations are bounded by the environment.
    """
    ident, lock, state = threading.get_ident(), threading.Lock(), {"over": False}

    def strike() -> None:
        with lock:
            if not state["over"]:
                ctypes.pythonapi.PyThreadState_SetAsyncExc(
                    ctypes.c_ulong(ident), ctypes.py_object(_TimeIsUp)
                )

    timer = threading.Timer(seconds, strike)
    timer.daemon = True
    timer.start()
    try:
        return call()
    finally:
        with lock:  # after this no strike can come any more
            state["over"] = True
        timer.cancel()
