"""Who may come in, and how long an answer may be."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from homeai.router.admission import (
    Limits,
    Refuse,
    Wait,
    answer_length,
    enter,
    past_deadline,
    waited_too_long,
)

LIMITS = Limits(queue_total=4, queue_per_client=2)


def verdict(**facts):
    given_facts = {"waiting": 0, "waiting_of_client": 0, "idle": False, "retry_after_s": 7.0}
    return enter(LIMITS, **{**given_facts, **facts})


def test_an_idle_worker_takes_a_request_even_if_nobody_may_wait():
    none = Limits(queue_total=0, queue_per_client=1)

    assert enter(none, waiting=0, waiting_of_client=0, idle=True, retry_after_s=1) == Wait()
    assert isinstance(
        enter(none, waiting=0, waiting_of_client=0, idle=False, retry_after_s=1), Refuse
    )


@pytest.mark.parametrize("facts", [{"waiting": 4}, {"waiting": 3, "waiting_of_client": 2}])
def test_a_full_line_refuses_with_a_time_to_come_back(facts):
    refused = verdict(**facts)

    assert refused.error.code == "queue_full"
    assert refused.error.retryable
    assert refused.error.retry_after_s == 7.0


@given(st.integers(1, 5000), st.none() | st.integers(1, 5000), st.integers(1, 4096))
def test_prompt_and_answer_always_fit_together_or_are_refused(prompt, wanted, context):
    length = answer_length(prompt_tokens=prompt, max_tokens=wanted, context_tokens=context)

    if isinstance(length, Refuse):
        assert prompt + (wanted or 1) > context
        assert length.error.code == "context_length_exceeded"
        assert str(context) in length.error.message
    else:
        assert 1 <= length <= context - prompt
        assert wanted in (None, length)


def test_errors_of_waiting_say_what_was_waited_for():
    assert waited_too_long(10, 5, ready=False).code == "model_loading"
    assert waited_too_long(10, 5, ready=True).retry_after_s == 5
    assert past_deadline(2.5).details == {"deadline_ms": 2500}
