"""Who got what: each token of an answer is delivered once and in order, and each answer ends once. Pure."""

from __future__ import annotations


class LedgerError(Exception):
    """A worker broke the order of an answer; the attempt must end."""


class ChoiceLedger:
    """Account of one answer.

    Attributes:
        delivered: Tokens delivered; the index of the next one.
        ended: Whether its end was delivered.
    """

    def __init__(self) -> None:
        self.delivered = 0
        self.ended = False

    def accept(self, index: int, count: int) -> bool:
        """Account for `count` tokens from `index` on.

        Returns:
            True if they are to be delivered; False for a late duplicate, or after the end.

        Raises:
            LedgerError: Tokens are missing before `index`, or a piece overlaps what was delivered.
        """
        if self.ended:
            return False
        if index > self.delivered:
            msg = f"token {self.delivered} is missing before token {index}"
            raise LedgerError(msg)
        if index < self.delivered:
            if index + count > self.delivered:
                msg = f"tokens {index} to {index + count - 1} overlap what was delivered"
                raise LedgerError(msg)
            return False
        self.delivered += count
        return True

    def end(self) -> bool:
        """Account for the end. False if it was delivered before."""
        if self.ended:
            return False
        self.ended = True
        return True
