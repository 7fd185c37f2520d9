"""Agent runs: a model that calls tools of this house, each action at most once."""
