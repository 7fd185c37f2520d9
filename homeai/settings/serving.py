"""Settings of the service: whom it answers, with which model, how much at a time."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from homeai.settings.field import AutoOrCount, Section, setting
from homeai.settings.parsing import Mib, Switch, Texts
from homeai.settings.text import QT_TRANSLATE_NOOP as _T


class Server(Section):
    """Where and to whom the service answers."""

    host: str = setting(
        "127.0.0.1",
        _T("Settings", "Address"),
        _T("Settings", "Address to listen on; another than this computer's own needs server.lan."),
        restart=True,
    )
    port: int = setting(
        8484,
        _T("Settings", "Port"),
        _T("Settings", "TCP port; 0 picks a free one."),
        restart=True,
        ge=0,
        le=65535,
    )
    lan: Switch = setting(
        default=False,
        title=_T("Settings", "Share on the LAN"),
        text=_T("Settings", "Let other devices in; every request then needs an API key."),
        restart=True,
    )
    allowed_hosts: Texts = setting(
        (),
        _T("Settings", "Further host names"),
        _T("Settings", "Names by which clients may call this computer, besides its own."),
    )
    allowed_origins: Texts = setting(
        (),
        _T("Settings", "Web pages that may ask"),
        _T("Settings", "Origins such as https://chat.example whose pages may use the service."),
    )
    max_body_mib: Mib = setting(
        16,
        _T("Settings", "Largest request"),
        _T("Settings", "Larger request bodies are refused."),
        unit="MiB",
        ge=1,
        le=1024,
    )


class Model(Section):
    """Which model answers."""

    active: str = setting(
        "",
        _T("Settings", "Model"),
        _T("Settings", "Name or file of the model; empty lets homeai choose."),
    )
    folders: Texts = setting(
        (),
        _T("Settings", "Model folders"),
        _T("Settings", "Further folders to look for GGUF files in."),
    )
    fallback: str = setting(
        "",
        _T("Settings", "Smaller model"),
        _T("Settings", "Used on the GPU when the model does not fit; empty means never."),
    )


class Limits(Section):
    """How much is taken on at a time."""

    context_tokens: int = setting(
        8192,
        _T("Settings", "Context"),
        _T("Settings", "Prompt and answer of one request together."),
        unit="tokens",
        restart=True,
        ge=256,
        le=1_048_576,
    )
    concurrency: int = setting(
        2,
        _T("Settings", "Answers at a time"),
        _T("Settings", "Requests computed in parallel; each takes memory for its context."),
        restart=True,
        ge=1,
        le=64,
    )
    queue_total: int = setting(
        32,
        _T("Settings", "Waiting requests"),
        _T("Settings", "Further requests are refused."),
        ge=0,
        le=10_000,
    )
    queue_per_client: int = setting(
        8,
        _T("Settings", "Waiting requests per client"),
        _T("Settings", "So that no device takes the whole line."),
        ge=1,
        le=10_000,
    )
    queue_wait_s: float = setting(
        120.0,
        _T("Settings", "Longest wait"),
        _T("Settings", "A request that waited longer is refused."),
        unit="s",
        gt=0,
        le=86_400,
    )
    deadline_s: float = setting(
        300.0,
        _T("Settings", "Deadline"),
        _T("Settings", "Longest time for a whole answer, waiting included."),
        unit="s",
        gt=0,
        le=86_400,
    )


class Memory(Section):
    """What stays free for others."""

    vram_reserve_percent: float = setting(
        10.0,
        _T("Settings", "GPU reserve"),
        _T("Settings", "Share of GPU memory that is never planned with."),
        unit="%",
        ge=0,
        le=90,
    )
    vram_reserve_min_mib: Mib = setting(
        768,
        _T("Settings", "Least GPU reserve"),
        _T("Settings", "GPU memory that stays free in any case."),
        unit="MiB",
        ge=0,
        le=1_048_576,
    )
    ram_reserve_percent: float = setting(
        15.0,
        _T("Settings", "RAM reserve"),
        _T("Settings", "Share of main memory that is never planned with."),
        unit="%",
        ge=0,
        le=90,
    )
    ram_reserve_min_mib: Mib = setting(
        2048,
        _T("Settings", "Least RAM reserve"),
        _T("Settings", "Main memory that stays free in any case."),
        unit="MiB",
        ge=0,
        le=1_048_576,
    )
    kv_type: Literal["f16", "q8_0"] = setting(
        "f16",
        _T("Settings", "KV cache precision"),
        _T("Settings", "q8_0 halves the context's memory at a small loss."),
        restart=True,
    )


class Engine(Section):
    """How the model is computed."""

    profile: Literal["fast", "exact"] = setting(
        "fast",
        _T("Settings", "Profile"),
        _T(
            "Settings",
            "exact: the same answer alone, beside others and after a resume; costs some speed.",
        ),
        restart=True,
    )


class Gpu(Section):
    """Use of an accelerator."""

    enabled: Switch = setting(
        default=True,
        title=_T("Settings", "Use the GPU"),
        text=_T("Settings", "Off keeps every computation on the CPU."),
        restart=True,
    )
    layers: AutoOrCount = setting(
        "auto",
        _T("Settings", "Layers on the GPU"),
        _T("Settings", "auto plans as many as fit."),
        restart=True,
    )
    devices: Annotated[str, Field(max_length=200)] = setting(
        "auto",
        _T("Settings", "GPU devices"),
        _T("Settings", "auto, or device names separated by commas."),
        restart=True,
    )
    backends: Texts = setting(
        (),
        _T("Settings", "Extra backends"),
        _T("Settings", "Paths of ggml backend plugins to load."),
        restart=True,
    )
