"""Settings of failover, recovery, privacy and the desktop."""

from __future__ import annotations

from typing import Literal

from homeai.settings.field import AutoOrCount, Section, setting
from homeai.settings.parsing import Switch
from homeai.settings.text import QT_TRANSLATE_NOOP


class Fallback(Section):
    """What happens when the GPU fails."""

    policy: Literal["auto", "ask", "gpu_only"] = setting(
        "auto",
        QT_TRANSLATE_NOOP("Settings", "Policy"),
        QT_TRANSLATE_NOOP("Settings", "Take over on the CPU, ask first, or never."),
    )
    standby: Literal["off", "cold", "warm"] = setting(
        "cold",
        QT_TRANSLATE_NOOP("Settings", "Standby"),
        QT_TRANSLATE_NOOP("Settings", "warm keeps the CPU worker loaded."),
    )
    context_tokens: int = setting(
        16384,
        QT_TRANSLATE_NOOP("Settings", "CPU context"),
        QT_TRANSLATE_NOOP("Settings", "Context of the CPU worker."),
        unit="tokens",
        restart=True,
        ge=256,
        le=1_048_576,
    )
    concurrency: int = setting(
        1,
        QT_TRANSLATE_NOOP("Settings", "CPU answers at a time"),
        QT_TRANSLATE_NOOP("Settings", "Requests the CPU worker computes in parallel."),
        restart=True,
        ge=1,
        le=64,
    )
    threads: AutoOrCount = setting(
        "auto",
        QT_TRANSLATE_NOOP("Settings", "CPU threads"),
        QT_TRANSLATE_NOOP("Settings", "auto leaves one core to other programs."),
        restart=True,
    )
    resume: Switch = setting(
        default=True,
        title=QT_TRANSLATE_NOOP("Settings", "Continue answers"),
        text=QT_TRANSLATE_NOOP("Settings", "Go on at the token where the GPU stopped."),
    )
    notice_s: float = setting(
        3.0,
        QT_TRANSLATE_NOOP("Settings", "Notice"),
        QT_TRANSLATE_NOOP(
            "Settings", "How long the banner with the estimate shows before the retry."
        ),
        unit="s",
        ge=0,
        le=600,
    )


class Recovery(Section):
    """How a failed worker comes back."""

    max_restarts: int = setting(
        3,
        QT_TRANSLATE_NOOP("Settings", "Restarts"),
        QT_TRANSLATE_NOOP("Settings", "More within the window open the circuit."),
        ge=0,
        le=100,
    )
    window_s: float = setting(
        600.0,
        QT_TRANSLATE_NOOP("Settings", "Window"),
        QT_TRANSLATE_NOOP("Settings", "Time in which restarts are counted."),
        unit="s",
        gt=0,
        le=86_400,
    )
    canary_decodes: int = setting(
        2,
        QT_TRANSLATE_NOOP("Settings", "Canaries"),
        QT_TRANSLATE_NOOP("Settings", "Good decodes before a restarted worker gets requests."),
        ge=0,
        le=100,
    )
    stall_s: float = setting(
        60.0,
        QT_TRANSLATE_NOOP("Settings", "Stall"),
        QT_TRANSLATE_NOOP("Settings", "A worker without progress for so long is ended."),
        unit="s",
        ge=1,
        le=3600,
    )


class Privacy(Section):
    """What is kept."""

    history: Switch = setting(
        default=True,
        title=QT_TRANSLATE_NOOP("Settings", "Keep conversations"),
        text=QT_TRANSLATE_NOOP(
            "Settings", "Conversations of the chat window stay on this computer."
        ),
    )
    journal_days: int = setting(
        7,
        QT_TRANSLATE_NOOP("Settings", "Journal"),
        QT_TRANSLATE_NOOP("Settings", "Days for which request records are kept, without texts."),
        unit="days",
        ge=0,
        le=3650,
    )
    log_prompts: Switch = setting(
        default=False,
        title=QT_TRANSLATE_NOOP("Settings", "Log prompts"),
        text=QT_TRANSLATE_NOOP("Settings", "Write prompts to the journal; off keeps only a hash."),
    )


class Ui(Section):
    """The desktop."""

    language: Literal["auto", "en", "de", "pt_PT", "pt_BR"] = setting(
        "auto",
        QT_TRANSLATE_NOOP("Settings", "Language"),
        QT_TRANSLATE_NOOP("Settings", "auto follows the system."),
    )
    theme: Literal["auto", "light", "dark"] = setting(
        "auto",
        QT_TRANSLATE_NOOP("Settings", "Theme"),
        QT_TRANSLATE_NOOP("Settings", "auto follows the system."),
    )
    autostart: Switch = setting(
        default=False,
        title=QT_TRANSLATE_NOOP("Settings", "Start at login"),
        text=QT_TRANSLATE_NOOP("Settings", "Start homeai in the tray when you log in."),
    )
    close_to_tray: Switch = setting(
        default=True,
        title=QT_TRANSLATE_NOOP("Settings", "Close to tray"),
        text=QT_TRANSLATE_NOOP("Settings", "Closing the window keeps homeai running."),
    )
    keep_serving: Switch = setting(
        default=False,
        title=QT_TRANSLATE_NOOP("Settings", "Keep serving"),
        text=QT_TRANSLATE_NOOP("Settings", "The service goes on after Quit."),
    )
    notifications: Switch = setting(
        default=True,
        title=QT_TRANSLATE_NOOP("Settings", "Notifications"),
        text=QT_TRANSLATE_NOOP("Settings", "Tell of changes, once each."),
    )
