"""Defaults < file < environment < flags, with the source of each value; changes go to the file."""

from __future__ import annotations

import difflib
import itertools
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import tomlkit
from pydantic import BaseModel, ValidationError

from homeai.settings.files import locked, write_private
from homeai.settings.schema import KEYS, SECTIONS, Settings

ENVIRONMENT_PREFIX = "HOMEAI_"
_SEPARATOR = "__"


class SettingsError(Exception):
    """A value that cannot be used.

    Attributes:
        key: `section.name`.
        given: What was given.
        allowed: What is allowed, in words.
    """

    def __init__(self, key: str, given: object, allowed: str) -> None:
        super().__init__(f"{key}: {given!r} cannot be used; allowed is {allowed}")
        self.key, self.given, self.allowed = key, given, allowed


@dataclass(frozen=True, slots=True)
class Layered:
    """Settings and where each value came from.

    Attributes:
        settings: The values in force.
        sources: `file`, `environment` or `flag` by key; a key that is missing has its default.
        problems: Sentences about what was set aside (a broken file, unknown variables).
    """

    settings: Settings
    sources: Mapping[str, str] = field(default_factory=dict)
    problems: tuple[str, ...] = ()

    def source(self, key: str) -> str:
        """Return `default`, `file`, `environment` or `flag`."""
        return self.sources.get(key, "default")


def load(file: Path, environment: Mapping[str, str], flags: Sequence[str] = ()) -> Layered:
    """Read all layers.

    Args:
        file: The TOML file; may be missing.
        environment: Variables `HOMEAI_SECTION__KEY` count.
        flags: Texts `section.key=value`.

    Raises:
        SettingsError: A value of any layer cannot be used, or a flag names no setting.
    """
    problems: list[str] = []
    layers = [
        ("file", _from_file(file, problems)),
        ("environment", _from_environment(environment, problems)),
        ("flag", _from_flags(flags)),
    ]
    values: dict[str, dict[str, object]] = {section: {} for section in SECTIONS}
    sources: dict[str, str] = {}
    for source, layer in layers:
        for key, value in layer.items():
            section, name = key.split(".", 1)
            values[section][name] = check(key, value)
            sources[key] = source
    try:
        settings = Settings.model_validate(values)
    except ValidationError as error:
        raise _cross_field(error) from None
    return Layered(settings, sources, tuple(problems))


def check(key: str, value: object) -> object:
    """Return the typed value of one setting.

    Raises:
        SettingsError: Unknown key, or a value that is not allowed.
    """
    require_key(key)
    section, name = key.split(".", 1)
    try:
        parsed = SECTIONS[section].model_validate({name: value})
    except ValidationError as error:
        raise SettingsError(key, value, _allowed(SECTIONS[section], name, error)) from None
    return getattr(parsed, name)


def require_key(key: str) -> None:
    """Raise SettingsError, with the nearest name, if there is no such setting."""
    if key not in KEYS:
        near = difflib.get_close_matches(key, KEYS, 1)
        raise SettingsError(
            key, "", f"a setting's name; did you mean {near[0]}?" if near else "a setting's name"
        )


def set_in_file(file: Path, key: str, text: object) -> None:
    """Write one value; comments and unknown keys of the file stay.

    Raises:
        SettingsError: The value or the key cannot be used; the file is unharmed.
    """
    value = check(key, text)
    section, name = key.split(".", 1)
    with locked(file):
        document = _document(file)
        table = document.get(section)
        if not isinstance(table, dict):
            table = document[section] = tomlkit.table()
        table[name] = list(value) if isinstance(value, tuple) else value
        write_private(file, tomlkit.dumps(document).encode())


def reset_in_file(file: Path, key: str) -> None:
    """Remove one value from the file, so that its default counts again."""
    require_key(key)
    section, name = key.split(".", 1)
    with locked(file):
        document = _document(file)
        table = document.get(section)
        if isinstance(table, dict) and name in table:
            del table[name]
            write_private(file, tomlkit.dumps(document).encode())


def _document(file: Path) -> tomlkit.TOMLDocument:
    problems: list[str] = []
    _from_file(file, problems)  # sets a broken file aside
    text = file.read_bytes().decode("utf-8-sig") if file.exists() else ""
    return tomlkit.parse(text)


def _from_file(file: Path, problems: list[str]) -> dict[str, object]:
    if not file.exists():
        return {}
    try:
        parsed = tomllib.loads(file.read_bytes().decode("utf-8-sig"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        kept = _set_aside(file)
        problems.append(f"settings.toml could not be read ({error}); it was kept as {kept.name}")
        return {}
    return {
        f"{section}.{name}": value
        for section, table in parsed.items()
        if section in SECTIONS and isinstance(table, dict)
        for name, value in table.items()
        if name in SECTIONS[section].model_fields  # unknown keys survive, unread
    }


def _set_aside(file: Path) -> Path:
    for number in itertools.count(1):
        target = file.with_name(f"{file.name}.broken-{number}")
        if not target.exists():
            file.replace(target)
            return target
    raise AssertionError  # pragma: no cover -- count() never ends


def _from_environment(environment: Mapping[str, str], problems: list[str]) -> dict[str, object]:
    values: dict[str, object] = {}
    for variable, value in environment.items():
        if not variable.startswith(ENVIRONMENT_PREFIX) or _SEPARATOR not in variable:
            continue
        key = variable.removeprefix(ENVIRONMENT_PREFIX).lower().replace(_SEPARATOR, ".", 1)
        if key in KEYS:
            values[key] = value
        else:
            near = difflib.get_close_matches(key, KEYS, 1)
            hint = f"; did you mean {near[0]}?" if near else ""
            problems.append(f"the variable {variable} names no setting{hint}")
    return values


def _from_flags(flags: Sequence[str]) -> dict[str, object]:
    values: dict[str, object] = {}
    for flag in flags:
        key, equals, value = flag.partition("=")
        if not equals:
            raise SettingsError(key, flag, "section.key=value")
        require_key(key.strip())
        values[key.strip()] = value.strip()
    return values


def _allowed(section: type[BaseModel], name: str, error: ValidationError) -> str:
    schema = section.model_json_schema()["properties"][name]
    unit = f" {schema['unit']}" if schema.get("unit") else ""
    if "enum" in schema:
        return ", ".join(map(str, schema["enum"]))
    if "anyOf" in schema:
        return "auto or a whole number from 0"
    low = schema.get("minimum", schema.get("exclusiveMinimum"))
    high = schema.get("maximum")
    if low is not None and high is not None:
        more_than = "more than " if "exclusiveMinimum" in schema else ""
        return f"{more_than}{low} to {high}{unit}"
    return error.errors()[0]["msg"].removeprefix("Value error, ").lower()


def _cross_field(error: ValidationError) -> SettingsError:
    message = error.errors()[0]["msg"].removeprefix("Value error, ")
    key, _, reason = message.partition(": ")
    return SettingsError(key, "", reason or message)
