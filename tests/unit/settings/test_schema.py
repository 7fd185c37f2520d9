"""Names, defaults and texts of the settings are those that were promised."""

import re

import pytest
from pydantic import ValidationError

from homeai.settings.schema import KEYS, SECTIONS, Settings

# Written out once more on purpose: these names and values are a promise to users' files and scripts.
PROMISED = {
    "server.host": "127.0.0.1",
    "server.port": 8484,
    "server.lan": False,
    "server.allowed_hosts": (),
    "server.allowed_origins": (),
    "server.max_body_mib": 16,
    "model.active": "",
    "model.folders": (),
    "model.fallback": "",
    "limits.context_tokens": 8192,
    "limits.concurrency": 2,
    "limits.queue_total": 32,
    "limits.queue_per_client": 8,
    "limits.queue_wait_s": 120,
    "limits.deadline_s": 300,
    "memory.vram_reserve_percent": 10,
    "memory.vram_reserve_min_mib": 768,
    "memory.ram_reserve_percent": 15,
    "memory.ram_reserve_min_mib": 2048,
    "memory.kv_type": "f16",
    "engine.profile": "fast",
    "gpu.enabled": True,
    "gpu.layers": "auto",
    "gpu.devices": "auto",
    "gpu.backends": (),
    "fallback.policy": "auto",
    "fallback.standby": "cold",
    "fallback.context_tokens": 16384,
    "fallback.concurrency": 1,
    "fallback.threads": "auto",
    "fallback.resume": True,
    "fallback.notice_s": 3,
    "recovery.max_restarts": 3,
    "recovery.window_s": 600,
    "recovery.canary_decodes": 2,
    "recovery.stall_s": 60,
    "privacy.history": True,
    "privacy.journal_days": 7,
    "privacy.log_prompts": False,
    "ui.language": "auto",
    "ui.theme": "auto",
    "ui.autostart": False,
    "ui.close_to_tray": True,
    "ui.keep_serving": False,
    "ui.notifications": True,
}


def value_of(settings, key):
    section, name = key.split(".")
    return getattr(getattr(settings, section), name)


def declaration(key):
    section, name = key.split(".")
    return SECTIONS[section].model_fields[name]


def test_names_and_defaults_are_those_promised():
    defaults = Settings()

    assert {key: value_of(defaults, key) for key in KEYS} == PROMISED


@pytest.mark.parametrize("key", KEYS)
def test_every_setting_has_a_title_a_text_and_says_whether_it_needs_a_restart(key):
    field = declaration(key)

    assert field.title
    assert field.description.endswith(".")
    assert isinstance(field.json_schema_extra["restart"], bool)


@pytest.mark.parametrize(
    "key", [key for key in KEYS if re.search("_(mib|s|tokens|percent|days)$", key)]
)
def test_a_setting_whose_name_ends_in_a_unit_declares_that_unit(key):
    units = {"mib": "MiB", "s": "s", "tokens": "tokens", "percent": "%", "days": "days"}

    assert declaration(key).json_schema_extra["unit"] == units[key.rpartition("_")[2]]


@pytest.mark.parametrize("key", KEYS)
def test_every_number_has_a_lower_and_an_upper_bound(key):
    section, name = key.split(".")
    schema = SECTIONS[section].model_json_schema()["properties"][name]
    numbers = [
        s for s in (schema, *schema.get("anyOf", ())) if s.get("type") in {"integer", "number"}
    ]

    for number in numbers:
        assert {"minimum", "exclusiveMinimum"} & number.keys()
        assert "maximum" in number


@pytest.mark.parametrize("key", KEYS)
def test_every_default_passes_its_own_rules(key):
    section, name = key.split(".")
    default = value_of(Settings(), key)

    assert getattr(SECTIONS[section].model_validate({name: default}), name) == default


def test_settings_cannot_be_changed_in_place():
    with pytest.raises(ValidationError, match="frozen"):
        Settings().server.port = 1
