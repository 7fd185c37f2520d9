"""`python -m homeai`."""

from homeai.cli.main import main

if __name__ == "__main__":
    main()
