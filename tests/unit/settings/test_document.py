"""docs/SETTINGS.md is made from the declarations."""

from pathlib import Path

import pytest

from homeai.settings.document import markdown
from homeai.settings.schema import KEYS, SECTIONS

ROOT = Path(__file__).parents[3]


def test_the_committed_page_is_current():
    committed = (ROOT / "docs" / "SETTINGS.md").read_text("utf-8")

    assert committed == markdown(), "run `python -m homeai settings document > docs/SETTINGS.md`"


@pytest.mark.parametrize("key", KEYS)
def test_every_setting_has_one_row_with_its_meaning(key):
    section, name = key.split(".")
    field = SECTIONS[section].model_fields[name]

    (row,) = [line for line in markdown().splitlines() if line.startswith(f"| `{key}` |")]

    assert field.description in row
    assert row.replace("\\|", "").count("|") == 5
    assert "None" not in row
