"""Tool calls in answers: what was offered, the grammar of a call, and reading calls from text. Pure."""
