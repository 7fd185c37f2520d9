"""One command: builds llama-server and compares homeai with it, in one run on this machine.

python tests/bench/compare.py                      # all, about 15 minutes on two cores
python tests/bench/compare.py --quick              # does everything once, figures mean little
python tests/bench/compare.py --self-check         # llama-server against itself: how much noise?
"""

import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
    from tests.bench.command import main

    sys.exit(main())
