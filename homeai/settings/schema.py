"""All settings; everything else (file, flags, dialog, docs) is derived from here."""

from __future__ import annotations

from pydantic import BaseModel

from homeai.settings.care import Fallback, Privacy, Recovery, Ui
from homeai.settings.field import Section
from homeai.settings.hosts import is_loopback
from homeai.settings.serving import Engine, Gpu, Limits, Memory, Model, Server

__all__ = ["KEYS", "SECTIONS", "Settings", "is_loopback"]


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
