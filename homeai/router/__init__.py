"""Decides and accounts: who may come in, who is next, what reached the client."""
