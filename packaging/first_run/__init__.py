"""The steps behind `bootstrap.py`; standard library only, Python 3.11 or newer."""
