"""A simulated accelerator, for machines without one: a ggml backend plugin that fails on command."""
