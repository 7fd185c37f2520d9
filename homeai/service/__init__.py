"""Builds everything from settings; start, drain, stop; one snapshot of it all."""
