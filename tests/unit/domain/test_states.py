from itertools import product

import pytest

from homeai.domain.states import (
    REQUEST_TRANSITIONS,
    TERMINAL,
    WORKER_TRANSITIONS,
    RequestState,
    WorkerState,
    advance,
)

_TABLES = [
    pytest.param(WorkerState, WORKER_TRANSITIONS, id="worker"),
    pytest.param(RequestState, REQUEST_TRANSITIONS, id="request"),
]


def _reachable(table: dict, start: object) -> set:
    found, todo = {start}, [start]
    while todo:
        for following in table[todo.pop()] - found:
            found.add(following)
            todo.append(following)
    return found


@pytest.mark.parametrize(("states", "table"), _TABLES)
def test_every_state_has_a_row_and_leads_only_to_states(states, table):
    assert set(table) == set(states)
    assert set().union(*table.values()) <= set(states)


@pytest.mark.parametrize(("states", "table"), _TABLES)
def test_no_state_leads_to_itself(states, table):
    assert [state for state in states if state in table[state]] == []


def test_every_worker_state_is_reached_from_stopped_and_can_stop():
    assert _reachable(WORKER_TRANSITIONS, WorkerState.STOPPED) == set(WorkerState)
    stuck = [s for s in WorkerState if WorkerState.STOPPED not in _reachable(WORKER_TRANSITIONS, s)]
    assert stuck == []


def test_a_worker_that_has_a_process_can_lose_it_at_once():
    with_process = {WorkerState.STARTING, WorkerState.READY, WorkerState.DRAINING}
    assert all(WorkerState.STOPPED in WORKER_TRANSITIONS[state] for state in with_process)


def test_every_request_state_is_reached_from_received_and_can_end_in_each_way_but_success():
    assert _reachable(REQUEST_TRANSITIONS, RequestState.RECEIVED) == set(RequestState)
    for state in set(RequestState) - TERMINAL:
        assert {RequestState.FAILED, RequestState.CANCELLED} <= REQUEST_TRANSITIONS[state]
        assert RequestState.FINISHED in _reachable(REQUEST_TRANSITIONS, state)


def test_the_ends_of_a_request_are_final():
    assert {RequestState.FINISHED, RequestState.FAILED, RequestState.CANCELLED} == TERMINAL
    assert all(REQUEST_TRANSITIONS[state] == frozenset() for state in TERMINAL)


def test_a_request_that_streams_never_waits_in_the_queue_again():
    """What was shown to the client cannot be taken back."""
    assert RequestState.WAITING not in _reachable(REQUEST_TRANSITIONS, RequestState.STREAMING)


@pytest.mark.parametrize(("states", "table"), _TABLES)
def test_advance_allows_exactly_what_the_table_allows(states, table):
    for old, new in product(states, states):
        if new in table[old]:
            assert advance(old, new) is new
        else:
            with pytest.raises(ValueError, match=f"{old} to {new}"):
                advance(old, new)
