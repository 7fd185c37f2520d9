"""The only code that knows llama.cpp. Everything above it sees tokens, logits and typed errors."""
