"""Chooses and loads the translation. `.qm` files are made from the `.ts` files into the cache."""

from __future__ import annotations

import logging
import subprocess
from pathlib import Path

import PySide6
from PySide6.QtCore import QCoreApplication, QLibraryInfo, QLocale, QTranslator

from homeai.desktop.assets import resources

logger = logging.getLogger(__name__)

LANGUAGES = ("en", "de", "pt_PT", "pt_BR")
_COMPILE_S = 10


def choose_language(setting: str, locale: QLocale) -> str:
    """Return one of `LANGUAGES`.

    Args:
        setting: `ui.language`; `auto` follows `locale`.
        locale: Of the system.
    """
    if setting in LANGUAGES:
        return setting
    if locale.language() == QLocale.Language.German:
        return "de"
    if locale.language() == QLocale.Language.Portuguese:
        return "pt_BR" if locale.territory() == QLocale.Country.Brazil else "pt_PT"
    return "en"


def install(language: str, cache: Path) -> None:
    """Load homeai's and Qt's own texts; missing ones stay English."""
    application = QCoreApplication.instance()
    if application is None:
        raise RuntimeError("translations need an application")
    QLocale.setDefault(QLocale(language))
    own = QTranslator(application)
    compiled = _compiled(language, cache)
    if compiled is not None and own.load(str(compiled)):
        application.installTranslator(own)
    qt = QTranslator(application)
    folder = QLibraryInfo.path(QLibraryInfo.LibraryPath.TranslationsPath)
    # Qt has no European Portuguese; Brazil's words are nearer than English
    if qt.load(f"qtbase_{'pt_BR' if language == 'pt_PT' else language}", folder):
        application.installTranslator(qt)


def _compiled(language: str, cache: Path) -> Path | None:
    source = resources() / "i18n" / f"homeai_{language}.ts"
    if not source.is_file():
        return None
    target = cache / "i18n" / f"homeai_{language}.qm"
    if target.is_file() and target.stat().st_mtime >= source.stat().st_mtime:
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    tool = Path(PySide6.__file__).parent / "lrelease"
    command = [str(tool), "-silent", str(source), "-qm", str(target)]
    try:
        subprocess.run(command, check=True, capture_output=True, timeout=_COMPILE_S)  # noqa: S603 -- fixed
    except (OSError, subprocess.SubprocessError) as error:
        logger.warning("translation not made language=%s error=%s", language, type(error).__name__)
        return None
    return target
