"""The language between core and worker: messages and framing, without any I/O."""
