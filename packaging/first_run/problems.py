"""What can stop the set-up, said in words a person can act on."""


class SetupError(Exception):
    """The set-up cannot go on; the message says what to do.

    Attributes:
        exit_code: What the process returns: 1 failed, 2 wrong usage.
    """

    exit_code = 1


class UsageError(SetupError):
    """The command line was not understood."""

    exit_code = 2
