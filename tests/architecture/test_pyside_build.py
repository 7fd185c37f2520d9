"""Guard against a Qt binding that loses references to None, True or False.

PySide6 6.12.0 does on Python before 3.12, and the process aborts after some thousand calls
(docs/adr/0003). Run in a process of its own: the measuring itself would bring it down.
"""

import json
import subprocess
import sys

import pytest

pytest.importorskip("PySide6", reason="the desktop extra is not installed")

MEASURE = """
import json, sys
from PySide6.QtCore import QCoreApplication, QObject, Signal

class Emitter(QObject):
    fired = Signal()

    def on_fired(self):
        pass

application = QCoreApplication([])
emitter = Emitter()

def connect_and_disconnect():
    emitter.fired.connect(emitter.on_fired)
    emitter.fired.disconnect(emitter.on_fired)

def drift(call, singleton, calls=300):
    before = sys.getrefcount(singleton)
    for _ in range(calls):
        call()
    return (sys.getrefcount(singleton) - before) / calls

print(json.dumps({
    "call without result": drift(lambda: emitter.setObjectName("x"), None),
    "static call": drift(application.processEvents, None),
    "connect and disconnect": drift(connect_and_disconnect, True),
    "call with a bool result": drift(lambda: emitter.blockSignals(False), False),
}))
"""


def test_calls_into_qt_keep_the_reference_counts_of_singletons():
    done = subprocess.run(
        [sys.executable, "-c", MEASURE], capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stderr
    drifts = json.loads(done.stdout)
    assert {what: drift for what, drift in drifts.items() if abs(drift) >= 0.5} == {}
