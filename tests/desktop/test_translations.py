"""Every text is translated, and placeholders survive translation."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from xml.etree import ElementTree

import PySide6
import pytest

from homeai.desktop.i18n import LANGUAGES, QLocale, choose_language

ROOT = Path(__file__).resolve().parents[2]
I18N = ROOT / "resources" / "i18n"


def messages(file: Path) -> dict[tuple[str, str], ElementTree.Element]:
    found = {}
    for context in ElementTree.parse(file).getroot().iter("context"):
        for message in context.iter("message"):
            key = (context.findtext("name"), message.findtext("source"))
            found[key] = message.find("translation")
    return found


@pytest.mark.parametrize("language", LANGUAGES)
def test_no_text_is_new_or_unfinished(language, tmp_path):
    copy = Path(shutil.copy(I18N / f"homeai_{language}.ts", tmp_path))
    tool = Path(PySide6.__file__).parent / "lupdate"
    sources = [str(p) for p in sorted((ROOT / "homeai" / "desktop").glob("*.py"))]
    subprocess.run([tool, *sources, "-no-obsolete", "-ts", copy], check=True, capture_output=True)

    unfinished = [k for k, t in messages(copy).items() if t.get("type") or not t.text]

    assert unfinished == []


@pytest.mark.parametrize("language", LANGUAGES)
def test_placeholders_are_the_same(language):
    for (_, source), translation in messages(I18N / f"homeai_{language}.ts").items():
        assert sorted(re.findall(r"\{\w+\}", source)) == sorted(
            re.findall(r"\{\w+\}", translation.text)
        )


@pytest.mark.parametrize(
    ("locale", "language"),
    [("de_AT", "de"), ("pt_BR", "pt_BR"), ("pt_AO", "pt_PT"), ("fr_FR", "en"), ("en_GB", "en")],
)
def test_the_nearest_language_is_chosen(locale, language):
    assert choose_language("auto", QLocale(locale)) == language
    assert choose_language("de", QLocale(locale)) == "de"
