"""What happened to requests, kept in SQLite: survives `kill -9` at any point of a write."""
