"""`python -m homeai` does what the command `homeai` does."""

from homeai.cli.main import main

if __name__ == "__main__":
    main()
