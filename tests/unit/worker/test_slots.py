"""Which sequence a prompt gets and what it may reuse."""

from hypothesis import given
from hypothesis import strategies as st

from homeai.worker.slots import Placement, SlotTable, common_prefix

SYSTEM = list(range(100, 140))


def serve(table: SlotTable, client: str, prompt: list[int], ticket: int = 1) -> Placement:
    placement = table.place(client, prompt)
    assert placement is not None
    slot = table.take(placement, client, ticket, prompt)
    slot.tokens = list(prompt)
    table.release(slot)
    return placement


def test_a_follow_up_question_stays_in_its_sequence():
    table = SlotTable(2)
    first = serve(table, "anna", [1, 2, 3])

    second = table.place("anna", [1, 2, 3, 4, 5])

    assert second == Placement(first.slot, 3)


def test_the_last_prompt_token_is_always_computed_again():
    table = SlotTable(1)
    serve(table, "anna", [1, 2, 3])

    assert table.place("anna", [1, 2, 3]).reuse == 2


def test_another_client_reuses_nothing():
    table = SlotTable(1)
    serve(table, "anna", [1, 2, 3])

    assert table.place("bert", [1, 2, 3, 4]).reuse == 0


def test_a_shared_system_prompt_is_copied_so_that_the_long_conversation_stays():
    table = SlotTable(2)
    long = serve(table, "anna", [*SYSTEM, *range(200, 400)])

    other = table.place("anna", [*SYSTEM, 7])

    assert other == Placement(table.slots[1 - long.slot.index], len(SYSTEM), long.slot.index)


def test_a_busy_sequence_of_the_same_client_can_be_copied_from():
    table = SlotTable(2)
    busy = table.place("anna", [*SYSTEM, 1])
    table.take(busy, "anna", 1, [*SYSTEM, 1]).tokens = [*SYSTEM, 1]

    assert table.place("anna", [*SYSTEM, 2]).copy_from == busy.slot.index


def test_empty_sequences_are_taken_before_someones_cache_is_dropped():
    table = SlotTable(2)
    first = serve(table, "anna", [1, 2, 3])

    assert table.place("bert", [9]).slot is not first.slot


def test_the_least_recently_used_cache_is_dropped_first():
    table = SlotTable(2)
    old = serve(table, "anna", [1, 2])
    serve(table, "bert", [3, 4])

    assert table.place("carl", [5, 6]).slot is old.slot


def test_no_place_when_all_are_busy():
    table = SlotTable(1)
    table.take(table.place("anna", [1]), "anna", 1, [1])

    assert table.place("bert", [1]) is None
    assert table.idle == 0


def test_memory_that_cannot_be_cut_is_never_reused():
    table = SlotTable(1, can_cut=False)
    serve(table, "anna", [1, 2, 3])

    assert table.place("anna", [1, 2, 3, 4]).reuse == 0


@given(st.lists(st.integers(0, 3)), st.lists(st.integers(0, 3)))
def test_common_prefix_is_the_longest_equal_beginning(left, right):
    size = common_prefix(left, right)

    assert left[:size] == right[:size]
    assert size == min(len(left), len(right)) or left[size] != right[size]


clients = st.sampled_from(["anna", "bert"])
prompts = st.lists(st.integers(0, 2), min_size=1, max_size=60)


@given(st.lists(st.tuples(clients, prompts), max_size=20))
def test_what_is_reused_is_always_the_clients_own_and_a_prefix_of_the_prompt(requests):
    table = SlotTable(3)
    for client, prompt in requests:
        before = {slot.index: (slot.client, list(slot.tokens)) for slot in table.slots}
        placement = serve(table, client, prompt)
        source = placement.copy_from if placement.copy_from is not None else placement.slot.index
        if placement.reuse:
            owner, tokens = before[source]
            assert owner == client
            assert tokens[: placement.reuse] == prompt[: placement.reuse]
            assert placement.reuse < len(prompt)
