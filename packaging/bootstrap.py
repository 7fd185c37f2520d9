#!/usr/bin/env python3
"""Make homeai's environment and start it: `bootstrap.py run`, or `bootstrap.py test`.

Written so that any Python 2.7 or newer can read it, and say what is wrong with that.
"""

import os
import sys

OLDEST = (3, 11)


def newer_pythons():
    """Names of interpreters on the PATH that are new enough."""
    folders = os.environ.get("PATH", "").split(os.pathsep)
    names = ["python3.%d" % minor for minor in range(14, OLDEST[1] - 1, -1)]
    return [n for n in names if any(os.path.exists(os.path.join(f, n)) for f in folders)]


def explain_old_python():
    """One message for a Python that is too old."""
    text = "homeai needs Python %d.%d or newer; this is Python %d.%d (%s)." % (
        OLDEST + tuple(sys.version_info[:2]) + (sys.executable,)
    )
    found = newer_pythons()
    if found:
        text += "\nThis one is here: %s %s" % (found[0], " ".join(sys.argv))
    return text


if __name__ == "__main__":
    if sys.version_info < OLDEST:
        sys.stderr.write(explain_old_python() + "\n")
        sys.exit(1)
    from first_run.command import main

    sys.exit(main(sys.argv[1:]))
