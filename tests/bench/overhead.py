"""What the core adds to a request: HTTP door, router and channel, over the worker alone.

The same one-token request goes to a worker process over its own channel and through `homeai serve`,
in turns. With a repeated prompt the worker computes one token only, so little noise is left.

    python tests/bench/overhead.py --pairs 300
"""

import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
    from tests.bench.overhead_command import main

    sys.exit(main())
