"""Everything that can go wrong on the way of a request, as one tree with meaning.

HomeAIError
├── BadRequest                 400  invalid_request
│   ├── UnsupportedParameter   400  unsupported_parameter
│   ├── InvalidSchema          400  invalid_schema
│   └── ContextLengthExceeded  400  context_length_exceeded
├── InvalidApiKey              401  invalid_api_key
├── Forbidden                  403  forbidden
├── ForbiddenHost              403  forbidden_host
├── ForbiddenOrigin            403  forbidden_origin
├── NotFound                   404  not_found
│   └── ModelNotFound          404  model_not_found
├── MethodNotAllowed           405  method_not_allowed
├── RequestTimeout             408  request_timeout
├── IdempotencyConflict        409  idempotency_conflict
├── PayloadTooLarge            413  payload_too_large
├── PoisonRequest              422  poison_request
├── Cancelled                  499  cancelled
├── Busy                       503  (a repeat is right: `Retry-After` is sent)
│   ├── QueueFull                   queue_full
│   ├── ModelLoading                model_loading
│   └── ShuttingDown                shutting_down
├── CircuitOpen                503  circuit_open
├── GpuOnly                    503  gpu_only
├── EffectCommitted            503  effect_committed
├── EffectsUnrecorded          503  effects_unrecorded
├── LatencyExceedsDeadline     503  latency_exceeds_deadline
├── RamInsufficient            503  ram_insufficient
├── CpuKernelsMissing          503  cpu_kernels_missing
├── WorkerFailed               502  worker_failed
└── ModelInvalid               500  model_invalid

A class carries the meaning (`code`, `http_status`, `retryable`); its message carries the numbers.
Text from llama.cpp or the operating system is recognised in `worker/llama/failures.py`, nowhere else.
"""

from __future__ import annotations

from typing import ClassVar


class HomeAIError(Exception):
    """Something a client may be told about.

    Attributes:
        code: Stable machine-readable name, see the contract.
        http_status: Status the HTTP doors answer with.
        retryable: Whether the same request may be sent again and succeed.
        param: Name of the request field at fault, if one is.
        retry_after_s: Seconds after which a repeat makes sense; only for retryable errors.
        details: Extra facts for the `homeai` object of the answer; never prompts, keys or paths.
    """

    code: ClassVar[str] = "internal_error"
    http_status: ClassVar[int] = 500
    retryable: ClassVar[bool] = False

    def __init__(
        self,
        message: str,
        *,
        param: str | None = None,
        retry_after_s: float | None = None,
        details: dict[str, object] | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.param = param
        self.retry_after_s = retry_after_s
        self.details = details or {}


class BadRequest(HomeAIError):
    """The request cannot be understood or honoured; the message says what was given and what is allowed."""

    code, http_status = "invalid_request", 400


class UnsupportedParameter(BadRequest):
    """A known parameter that homeai does not offer; ignoring it would be a lie."""

    code = "unsupported_parameter"


class InvalidSchema(BadRequest):
    """A JSON schema or grammar that cannot be honoured."""

    code = "invalid_schema"


class ContextLengthExceeded(BadRequest):
    """Prompt plus answer do not fit any profile; nothing is ever cut silently."""

    code = "context_length_exceeded"


class InvalidApiKey(HomeAIError):
    """No key, or one that is unknown."""

    code, http_status = "invalid_api_key", 401


class Forbidden(HomeAIError):
    """Only programs of this computer may do this."""

    code, http_status = "forbidden", 403


class ForbiddenHost(HomeAIError):
    """The Host header names none of our names (DNS rebinding)."""

    code, http_status = "forbidden_host", 403


class ForbiddenOrigin(HomeAIError):
    """A web page from elsewhere asked."""

    code, http_status = "forbidden_origin", 403


class NotFound(HomeAIError):
    """No such address or record."""

    code, http_status = "not_found", 404


class ModelNotFound(NotFound):
    """No model of that name."""

    code = "model_not_found"


class MethodNotAllowed(HomeAIError):
    """The address exists, the method does not."""

    code, http_status = "method_not_allowed", 405


class RequestTimeout(HomeAIError):
    """The client sent its request too slowly."""

    code, http_status = "request_timeout", 408


class IdempotencyConflict(HomeAIError):
    """An `Idempotency-Key` was used before with another body."""

    code, http_status = "idempotency_conflict", 409


class PoisonRequest(HomeAIError):
    """The request killed a worker twice; it is not tried again."""

    code, http_status = "poison_request", 422


class PayloadTooLarge(HomeAIError):
    """The body is larger than `server.max_body_mib`."""

    code, http_status = "payload_too_large", 413


class Cancelled(HomeAIError):
    """The client went away or asked to stop. Not a failure."""

    code, http_status = "cancelled", 499


class Busy(HomeAIError):
    """Not now; the same request may succeed after `retry_after_s`."""

    http_status, retryable = 503, True


class QueueFull(Busy):
    """The waiting line, or this client's share of it, is full, or the wait was too long."""

    code = "queue_full"


class ModelLoading(Busy):
    """The model is not loaded yet."""

    code = "model_loading"


class ShuttingDown(Busy):
    """The core is stopping."""

    code = "shutting_down"


class CircuitOpen(HomeAIError):
    """The worker failed too often in a short time; no more tries for now."""

    code, http_status = "circuit_open", 503


class GpuOnly(HomeAIError):
    """The GPU cannot answer, and its owner or the client forbade the CPU."""

    code, http_status = "gpu_only", 503


class EffectCommitted(HomeAIError):
    """A tool had acted already, so the request must not be tried again; the effects are listed."""

    code, http_status = "effect_committed", 503


class EffectsUnrecorded(HomeAIError):
    """What a tool does cannot be written down, so it must not act."""

    code, http_status = "effects_unrecorded", 503


class LatencyExceedsDeadline(HomeAIError):
    """The answer would come after the client's deadline."""

    code, http_status = "latency_exceeds_deadline", 503


class RamInsufficient(HomeAIError):
    """Not enough main memory for the CPU worker."""

    code, http_status = "ram_insufficient", 503


class CpuKernelsMissing(HomeAIError):
    """The native library does not run on this processor."""

    code, http_status = "cpu_kernels_missing", 503


class WorkerFailed(HomeAIError):
    """A worker failed while it held the request."""

    code, http_status = "worker_failed", 502


class ModelInvalid(HomeAIError):
    """The model file cannot be used; the message says why."""

    code, http_status = "model_invalid", 500


def _tree(cls: type[HomeAIError]) -> list[type[HomeAIError]]:
    return [cls, *(deep for child in cls.__subclasses__() for deep in _tree(child))]


BY_CODE: dict[str, type[HomeAIError]] = {cls.code: cls for cls in reversed(_tree(HomeAIError))}
"""Error class for each code; used to rebuild an error that crossed a process border."""


def from_code(code: str, message: str, param: str | None = None) -> HomeAIError:
    """Rebuild an error from what crossed a process border.

    Args:
        code: One of `BY_CODE`; anything else becomes `WorkerFailed`.
        message: What to tell the client.
        param: Field at fault.
    """
    return BY_CODE.get(code, WorkerFailed)(message, param=param)
