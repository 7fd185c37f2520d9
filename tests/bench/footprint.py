"""What the core costs: memory without a model, and the time from start to ready with a warm disk.

python tests/bench/footprint.py --starts 7
"""

import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
    from tests.bench.footprint_command import main

    sys.exit(main())
