"""Keeps worker processes alive: one task owns one process; what to do after a death is pure."""
