"""Settings of failover, recovery, privacy and the desktop."""

from __future__ import annotations

from typing import Literal

from homeai.settings.field import AutoOrCount, Section, setting
from homeai.settings.parsing import Switch
from homeai.settings.text import QT_TRANSLATE_NOOP as _T


class Fallback(Section):
    """What happens when the GPU fails."""

    policy: Literal["auto", "ask", "gpu_only"] = setting(
        "auto",
        _T("Settings", "Policy"),
        _T("Settings", "Take over on the CPU, ask first, or never."),
    )
    standby: Literal["off", "cold", "warm"] = setting(
        "cold", _T("Settings", "Standby"), _T("Settings", "warm keeps the CPU worker loaded.")
    )
    context_tokens: int = setting(
        16384,
        _T("Settings", "CPU context"),
        _T("Settings", "Context of the CPU worker."),
        unit="tokens",
        restart=True,
        ge=256,
        le=1_048_576,
    )
    concurrency: int = setting(
        1,
        _T("Settings", "CPU answers at a time"),
        _T("Settings", "Requests the CPU worker computes in parallel."),
        restart=True,
        ge=1,
        le=64,
    )
    threads: AutoOrCount = setting(
        "auto",
        _T("Settings", "CPU threads"),
        _T("Settings", "auto leaves one core to other programs."),
        restart=True,
    )
    resume: Switch = setting(
        default=True,
        title=_T("Settings", "Continue answers"),
        text=_T("Settings", "Go on at the token where the GPU stopped."),
    )
    notice_s: float = setting(
        3.0,
        _T("Settings", "Notice"),
        _T("Settings", "How long the banner with the estimate shows before the retry."),
        unit="s",
        ge=0,
        le=600,
    )


class Recovery(Section):
    """How a failed worker comes back."""

    max_restarts: int = setting(
        3,
        _T("Settings", "Restarts"),
        _T("Settings", "More within the window open the circuit."),
        ge=0,
        le=100,
    )
    window_s: float = setting(
        600.0,
        _T("Settings", "Window"),
        _T("Settings", "Time in which restarts are counted."),
        unit="s",
        gt=0,
        le=86_400,
    )
    canary_decodes: int = setting(
        2,
        _T("Settings", "Canaries"),
        _T("Settings", "Good decodes before a restarted worker gets requests."),
        ge=0,
        le=100,
    )
    stall_s: float = setting(
        60.0,
        _T("Settings", "Stall"),
        _T("Settings", "A worker without progress for so long is ended."),
        unit="s",
        ge=1,
        le=3600,
    )


class Privacy(Section):
    """What is kept."""

    history: Switch = setting(
        default=True,
        title=_T("Settings", "Keep conversations"),
        text=_T("Settings", "Conversations of the chat window stay on this computer."),
    )
    journal_days: int = setting(
        7,
        _T("Settings", "Journal"),
        _T("Settings", "Days for which request records are kept, without texts."),
        unit="days",
        ge=0,
        le=3650,
    )
    log_prompts: Switch = setting(
        default=False,
        title=_T("Settings", "Log prompts"),
        text=_T("Settings", "Write prompts to the journal; off keeps only a hash."),
    )


class Ui(Section):
    """The desktop."""

    language: Literal["auto", "en", "de", "pt_PT", "pt_BR"] = setting(
        "auto", _T("Settings", "Language"), _T("Settings", "auto follows the system.")
    )
    theme: Literal["auto", "light", "dark"] = setting(
        "auto", _T("Settings", "Theme"), _T("Settings", "auto follows the system.")
    )
    autostart: Switch = setting(
        default=False,
        title=_T("Settings", "Start at login"),
        text=_T("Settings", "Start homeai in the tray when you log in."),
    )
    close_to_tray: Switch = setting(
        default=True,
        title=_T("Settings", "Close to tray"),
        text=_T("Settings", "Closing the window keeps homeai running."),
    )
    keep_serving: Switch = setting(
        default=False,
        title=_T("Settings", "Keep serving"),
        text=_T("Settings", "The service goes on after Quit."),
    )
    notifications: Switch = setting(
        default=True,
        title=_T("Settings", "Notifications"),
        text=_T("Settings", "Tell of changes, once each."),
    )
