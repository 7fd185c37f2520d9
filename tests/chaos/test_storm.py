"""A short storm in every run; the long one is `python -m tests.chaos.storm`."""

from __future__ import annotations

import pytest

from homeai.proof.device.build import build
from tests.chaos.storm import run
from tests.guards.programs import require_programs


@pytest.mark.timeout(240)
def test_in_a_storm_every_request_ends_once_and_truly(starter_model, tmp_path):
    require_programs("cc")
    plugin = build(tmp_path / "plugin")

    account, wrong = run(tmp_path / "core", plugin, starter_model, seconds=15, seed=1)

    assert wrong == []
    assert account.total > 10
    assert account.faults > 5
    assert any("cpu" in outcome for outcome in account.outcomes)
