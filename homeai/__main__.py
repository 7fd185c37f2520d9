"""`python -m homeai` does what the command `homeai` does."""

import sys

from homeai.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
