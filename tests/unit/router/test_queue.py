"""The waiting line is bounded by its owner, fair between clients, and first come first served within one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from homeai.router.queue import FairQueue

arrivals = st.lists(st.sampled_from("abc"), max_size=30)


def filled(clients) -> FairQueue:
    queue = FairQueue()
    for number, client in enumerate(clients):
        queue.add(client, str(number), (client, number))
    return queue


def test_clients_take_turns():
    assert [c for c, _ in filled("aaab").order()] == ["a", "b", "a", "a"]


def test_nobody_waits_in_an_empty_line():
    with pytest.raises(KeyError):
        FairQueue().take(lambda _: True)
    assert FairQueue().first(lambda _: True) is None


def test_the_same_key_cannot_wait_twice():
    queue = filled("a")

    with pytest.raises(ValueError, match="waits already"):
        queue.add("a", "0", None)


@given(arrivals)
def test_entries_leave_in_the_order_that_was_told(clients):
    queue = filled(clients)
    told = queue.order()

    assert [queue.take(lambda _: True) for _ in clients] == told
    assert len(queue) == 0


def test_only_entries_of_the_wanted_kind_are_taken_and_the_others_keep_their_place():
    queue = filled("aab")

    assert queue.take(lambda entry: entry[1] == 1) == ("a", 1)
    assert queue.order() == [("b", 2), ("a", 0)]


def test_who_had_its_turn_already_is_next():
    queue = filled("ab")
    queue.add("b", "again", ("b", 9), first=True)

    assert queue.order()[0] == ("b", 9)


@given(arrivals)
def test_within_a_client_the_order_of_arrival_holds(clients):
    order = filled(clients).order()

    for client in "abc":
        numbers = [n for c, n in order if c == client]
        assert numbers == sorted(numbers)


@given(arrivals, st.data())
def test_an_entry_can_leave_from_anywhere(clients, data):
    queue = filled(clients)
    if not clients:
        return
    number = data.draw(st.integers(0, len(clients) - 1))

    assert queue.remove(clients[number], str(number)) == (clients[number], number)
    assert queue.remove(clients[number], str(number)) is None
    assert (clients[number], number) not in queue.order()
    assert len(queue) == len(clients) - 1


@given(arrivals)
def test_a_flood_delays_a_newcomer_by_one_turn_of_each_other_client(clients):
    queue = filled(clients)
    queue.add("new", "new", ("new", 0))

    position = queue.order().index(("new", 0))

    assert position <= len(set(clients))
