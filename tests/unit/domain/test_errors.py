import pytest

from homeai.domain import errors
from homeai.domain.errors import BY_CODE, HomeAIError, WorkerFailed, from_code

_CONTRACT = {
    "invalid_request": (400, False),
    "unsupported_parameter": (400, False),
    "invalid_schema": (400, False),
    "context_length_exceeded": (400, False),
    "invalid_api_key": (401, False),
    "forbidden": (403, False),
    "forbidden_host": (403, False),
    "forbidden_origin": (403, False),
    "model_not_found": (404, False),
    "payload_too_large": (413, False),
    "queue_full": (503, True),
    "model_loading": (503, True),
    "shutting_down": (503, True),
    "ram_insufficient": (503, False),
    "cpu_kernels_missing": (503, False),
    "circuit_open": (503, False),
    "latency_exceeds_deadline": (503, False),
    "effects_unrecorded": (503, False),
    "worker_failed": (502, False),
    "model_invalid": (500, False),
}
"""Code → status and whether a repeat is right, as promised to clients. Codes of later issues join here."""


def _classes(base: type[HomeAIError] = HomeAIError) -> list[type[HomeAIError]]:
    return [base, *(deep for child in base.__subclasses__() for deep in _classes(child))]


def _own(cls: type[HomeAIError]) -> bool:
    return cls.__module__ == errors.__name__


@pytest.mark.parametrize("code", _CONTRACT)
def test_status_and_repeat_are_as_promised(code):
    cls = BY_CODE[code]
    assert (cls.http_status, cls.retryable) == _CONTRACT[code]


def test_no_two_errors_that_are_raised_share_a_code():
    codes = [cls.code for cls in _classes() if _own(cls) and "code" in vars(cls)]
    assert len(codes) == len(set(codes))


def test_only_groups_inherit_their_code():
    """A class without a code of its own is a group, never what a client meets."""
    assert {cls.__name__ for cls in _classes() if _own(cls) and "code" not in vars(cls)} == {"Busy"}


def test_every_code_leads_to_its_own_class():
    assert all("code" in vars(cls) and cls.code == code for code, cls in BY_CODE.items())


def test_statuses_are_errors_and_only_a_lack_of_room_or_time_is_worth_a_repeat():
    for cls in filter(_own, _classes()):
        assert 400 <= cls.http_status < 600
        assert not cls.retryable or cls.http_status == 503


@pytest.mark.parametrize("code", BY_CODE)
def test_an_error_survives_the_way_through_a_process_border(code):
    error = from_code(code, "three of four", "messages")
    assert type(error) is BY_CODE[code]
    assert (error.code, error.message, error.param, str(error)) == (
        code,
        "three of four",
        "messages",
        "three of four",
    )


@pytest.mark.parametrize("code", ["", "busy", "no_such_code", "INVALID_REQUEST"])
def test_an_unknown_code_is_the_workers_failure(code):
    assert type(from_code(code, "m")) is WorkerFailed


def test_details_of_one_error_are_not_those_of_another():
    first, second = from_code("queue_full", "a"), from_code("queue_full", "b")
    first.details["ahead"] = 3
    assert second.details == {}


def test_the_docstring_lists_every_class_with_its_code_and_status():
    text = errors.__doc__ or ""
    for cls in filter(_own, _classes()):
        assert cls.__name__ in text
        if "code" in vars(cls) and cls is not HomeAIError:
            assert cls.code in text
            assert str(cls.http_status) in text
