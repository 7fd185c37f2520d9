"""The command line: thin commands, each importing what it needs only when it runs."""
