"""Probes of the machine. Unknown is None, never 0 or -1."""
