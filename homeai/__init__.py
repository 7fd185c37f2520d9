"""homeai: a home PC as an AI server for the household."""

__version__ = "0.1.0"
APP_ID = "io.github.homeai.HomeAI"
