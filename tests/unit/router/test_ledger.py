"""Each token reaches the client once and in order, and each answer ends once."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from homeai.router.ledger import ChoiceLedger, LedgerError


def test_tokens_are_delivered_in_order():
    ledger = ChoiceLedger()

    assert ledger.accept(0, 2)
    assert ledger.accept(2, 1)
    assert ledger.delivered == 3


def test_a_late_duplicate_is_dropped():
    ledger = ChoiceLedger()
    ledger.accept(0, 3)

    assert not ledger.accept(1, 2)
    assert ledger.delivered == 3


def test_a_gap_ends_the_attempt():
    with pytest.raises(LedgerError, match="token 0 is missing"):
        ChoiceLedger().accept(1, 1)


def test_a_piece_that_overlaps_ends_the_attempt():
    ledger = ChoiceLedger()
    ledger.accept(0, 2)

    with pytest.raises(LedgerError, match="overlap"):
        ledger.accept(1, 3)


def test_nothing_is_delivered_after_the_end():
    ledger = ChoiceLedger()

    assert ledger.end()
    assert not ledger.end()
    assert not ledger.accept(0, 1)


@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 3)), max_size=30))
def test_every_index_is_delivered_at_most_once_whatever_comes(pieces):
    ledger, seen = ChoiceLedger(), []
    for index, count in pieces:
        try:
            if ledger.accept(index, count):
                seen += range(index, index + count)
        except LedgerError:
            break

    assert seen == list(range(len(seen)))
