"""Settings of the service: whom it answers, with which model, how much at a time."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from homeai.settings.field import AutoOrCount, Section, setting
from homeai.settings.hosts import parse_host
from homeai.settings.parsing import Mib, Switch, Texts
from homeai.settings.text import QT_TRANSLATE_NOOP


class Server(Section):
    """Where and to whom the service answers."""

    host: Annotated[str, BeforeValidator(parse_host)] = setting(
        "127.0.0.1",
        QT_TRANSLATE_NOOP("Settings", "Address"),
        QT_TRANSLATE_NOOP(
            "Settings", "Address to listen on; another than this computer's own needs server.lan."
        ),
        restart=True,
    )
    port: int = setting(
        8484,
        QT_TRANSLATE_NOOP("Settings", "Port"),
        QT_TRANSLATE_NOOP("Settings", "TCP port; 0 picks a free one."),
        restart=True,
        ge=0,
        le=65535,
    )
    lan: Switch = setting(
        default=False,
        title=QT_TRANSLATE_NOOP("Settings", "Share on the LAN"),
        text=QT_TRANSLATE_NOOP(
            "Settings", "Let other devices in; every request then needs an API key."
        ),
        restart=True,
    )
    allowed_hosts: Texts = setting(
        (),
        QT_TRANSLATE_NOOP("Settings", "Further host names"),
        QT_TRANSLATE_NOOP(
            "Settings", "Names by which clients may call this computer, besides its own."
        ),
    )
    allowed_origins: Texts = setting(
        (),
        QT_TRANSLATE_NOOP("Settings", "Web pages that may ask"),
        QT_TRANSLATE_NOOP(
            "Settings", "Origins such as https://chat.example whose pages may use the service."
        ),
    )
    max_body_mib: Mib = setting(
        16,
        QT_TRANSLATE_NOOP("Settings", "Largest request"),
        QT_TRANSLATE_NOOP("Settings", "Larger request bodies are refused."),
        unit="MiB",
        ge=1,
        le=1024,
    )


class Model(Section):
    """Which model answers."""

    active: str = setting(
        "",
        QT_TRANSLATE_NOOP("Settings", "Model"),
        QT_TRANSLATE_NOOP("Settings", "Name or file of the model; empty lets homeai choose."),
    )
    folders: Texts = setting(
        (),
        QT_TRANSLATE_NOOP("Settings", "Model folders"),
        QT_TRANSLATE_NOOP("Settings", "Further folders to look for GGUF files in."),
    )
    fallback: str = setting(
        "",
        QT_TRANSLATE_NOOP("Settings", "Smaller model"),
        QT_TRANSLATE_NOOP(
            "Settings", "Used on the GPU when the model does not fit; empty means never."
        ),
    )


class Limits(Section):
    """How much is taken on at a time."""

    context_tokens: int = setting(
        8192,
        QT_TRANSLATE_NOOP("Settings", "Context"),
        QT_TRANSLATE_NOOP("Settings", "Prompt and answer of one request together."),
        unit="tokens",
        restart=True,
        ge=256,
        le=1_048_576,
    )
    concurrency: int = setting(
        2,
        QT_TRANSLATE_NOOP("Settings", "Answers at a time"),
        QT_TRANSLATE_NOOP(
            "Settings", "Requests computed in parallel; each takes memory for its context."
        ),
        restart=True,
        ge=1,
        le=64,
    )
    queue_total: int = setting(
        32,
        QT_TRANSLATE_NOOP("Settings", "Waiting requests"),
        QT_TRANSLATE_NOOP("Settings", "Further requests are refused."),
        ge=0,
        le=10_000,
    )
    queue_per_client: int = setting(
        8,
        QT_TRANSLATE_NOOP("Settings", "Waiting requests per client"),
        QT_TRANSLATE_NOOP("Settings", "So that no device takes the whole line."),
        ge=1,
        le=10_000,
    )
    queue_wait_s: float = setting(
        120.0,
        QT_TRANSLATE_NOOP("Settings", "Longest wait"),
        QT_TRANSLATE_NOOP("Settings", "A request that waited longer is refused."),
        unit="s",
        gt=0,
        le=86_400,
    )
    deadline_s: float = setting(
        300.0,
        QT_TRANSLATE_NOOP("Settings", "Deadline"),
        QT_TRANSLATE_NOOP("Settings", "Longest time for a whole answer, waiting included."),
        unit="s",
        gt=0,
        le=86_400,
    )


class Memory(Section):
    """What stays free for others."""

    vram_reserve_percent: float = setting(
        10.0,
        QT_TRANSLATE_NOOP("Settings", "GPU reserve"),
        QT_TRANSLATE_NOOP("Settings", "Share of GPU memory that is never planned with."),
        unit="%",
        ge=0,
        le=90,
    )
    vram_reserve_min_mib: Mib = setting(
        768,
        QT_TRANSLATE_NOOP("Settings", "Least GPU reserve"),
        QT_TRANSLATE_NOOP("Settings", "GPU memory that stays free in any case."),
        unit="MiB",
        ge=0,
        le=1_048_576,
    )
    ram_reserve_percent: float = setting(
        15.0,
        QT_TRANSLATE_NOOP("Settings", "RAM reserve"),
        QT_TRANSLATE_NOOP("Settings", "Share of main memory that is never planned with."),
        unit="%",
        ge=0,
        le=90,
    )
    ram_reserve_min_mib: Mib = setting(
        2048,
        QT_TRANSLATE_NOOP("Settings", "Least RAM reserve"),
        QT_TRANSLATE_NOOP("Settings", "Main memory that stays free in any case."),
        unit="MiB",
        ge=0,
        le=1_048_576,
    )
    kv_type: Literal["f16", "q8_0"] = setting(
        "f16",
        QT_TRANSLATE_NOOP("Settings", "KV cache precision"),
        QT_TRANSLATE_NOOP("Settings", "q8_0 halves the context's memory at a small loss."),
        restart=True,
    )


class Engine(Section):
    """How the model is computed."""

    profile: Literal["fast", "exact"] = setting(
        "fast",
        QT_TRANSLATE_NOOP("Settings", "Profile"),
        QT_TRANSLATE_NOOP(
            "Settings",
            "exact: the same answer alone, beside others and after a resume; costs some speed.",
        ),
        restart=True,
    )


class Gpu(Section):
    """Use of an accelerator."""

    enabled: Switch = setting(
        default=True,
        title=QT_TRANSLATE_NOOP("Settings", "Use the GPU"),
        text=QT_TRANSLATE_NOOP("Settings", "Off keeps every computation on the CPU."),
        restart=True,
    )
    layers: AutoOrCount = setting(
        "auto",
        QT_TRANSLATE_NOOP("Settings", "Layers on the GPU"),
        QT_TRANSLATE_NOOP("Settings", "auto plans as many as fit."),
        restart=True,
    )
    devices: Annotated[str, Field(max_length=200)] = setting(
        "auto",
        QT_TRANSLATE_NOOP("Settings", "GPU devices"),
        QT_TRANSLATE_NOOP("Settings", "auto, or device names separated by commas."),
        restart=True,
    )
    backends: Texts = setting(
        (),
        QT_TRANSLATE_NOOP("Settings", "Extra backends"),
        QT_TRANSLATE_NOOP("Settings", "Paths of ggml backend plugins to load."),
        restart=True,
    )
