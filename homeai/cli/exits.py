"""Exit statuses of all commands."""

from __future__ import annotations

EXIT_FAILED = 1
EXIT_USAGE = 2
EXIT_DOES_NOT_FIT = 3
EXIT_UNREACHABLE = 4
EXIT_INTERRUPTED = 130
"""128 + SIGINT, as shells tell it."""
