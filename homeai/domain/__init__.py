"""What things are: immutable values and pure functions. No I/O, no clock, no event loop."""
