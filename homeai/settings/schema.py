"""All settings; everything else (file, flags, dialog, docs) is derived from here."""

from __future__ import annotations

import ipaddress
import re

from pydantic import BaseModel, model_validator

from homeai.settings.care import Fallback, Privacy, Recovery, Ui
from homeai.settings.field import Section
from homeai.settings.serving import Engine, Gpu, Limits, Memory, Model, Server

_HOST_NAME = re.compile(r"(?!-)[A-Za-z0-9-]{1,63}(?:\.(?!-)[A-Za-z0-9-]{1,63})*\.?")


class Settings(Section):
    """All sections."""

    server: Server = Server()
    model: Model = Model()
    limits: Limits = Limits()
    memory: Memory = Memory()
    engine: Engine = Engine()
    gpu: Gpu = Gpu()
    fallback: Fallback = Fallback()
    recovery: Recovery = Recovery()
    privacy: Privacy = Privacy()
    ui: Ui = Ui()

    @model_validator(mode="after")
    def _check_host(self) -> Settings:
        host = self.server.host
        if not is_loopback(host) and not _is_address(host) and not _HOST_NAME.fullmatch(host):
            msg = f"server.host: {host!r} is no IP address and no host name"
            raise ValueError(msg)
        return self


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def is_loopback(host: str) -> bool:
    """Whether `host` means this computer only."""
    if host.lower().rstrip(".") == "localhost":
        return True
    return _is_address(host) and ipaddress.ip_address(host).is_loopback


SECTIONS: dict[str, type[BaseModel]] = {
    name: field.annotation
    for name, field in Settings.model_fields.items()
    if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel)
}
"""Section classes by name, in order."""

KEYS: tuple[str, ...] = tuple(
    f"{section}.{name}" for section, cls in SECTIONS.items() for name in cls.model_fields
)
"""All setting keys, `section.name`, in order."""
