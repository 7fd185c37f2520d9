"""Defaults < file < environment < flags, with the source of each value; changes go to the file."""

from __future__ import annotations

import difflib
import itertools
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import tomlkit
from pydantic import BaseModel, ValidationError
from tomlkit.exceptions import TOMLKitError

from homeai.settings.files import locked, write_private
from homeai.settings.schema import KEYS, SECTIONS, Settings

ENVIRONMENT_PREFIX = "HOMEAI_"
_SEPARATOR = "__"
_LONGEST_SHOWN = 200
_BROKEN = (ValueError, RecursionError)
"""What reading TOML raises: bad syntax, another encoding, endless nesting."""


class SettingsError(Exception):
    """A value that cannot be used.

    Attributes:
        key: `section.name`.
        given: What was given.
        allowed: What is allowed, in words.
        source: `file`, `environment` or `flag`; empty where it is plain.
    """

    def __init__(self, key: str, given: object, allowed: str, source: str = "") -> None:
        origin = f" (from the {source})" if source else ""
        super().__init__(f"{key}{origin}: {_short(given)} cannot be used; allowed is {allowed}")
        self.key, self.given, self.allowed, self.source = key, given, allowed, source


class UnknownSetting(SettingsError):
    """A name that no setting has; the message offers the nearest one."""

    def __init__(self, key: str) -> None:
        near = difflib.get_close_matches(key, KEYS, 1)
        hint = f"did you mean {near[0]}?" if near else "`homeai settings list` shows all"
        super().__init__(key, key, "a setting's name")
        self.args = (f"there is no setting {_short(key)}; {hint}",)


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
            try:
                values[section][name] = check(key, value)
            except SettingsError as error:
                raise SettingsError(key, error.given, error.allowed, source) from None
            sources[key] = source
    return Layered(Settings.model_validate(values), sources, tuple(problems))


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


def variable_of(key: str) -> str:
    """Return the name of the environment variable that sets `key`."""
    return ENVIRONMENT_PREFIX + key.replace(".", _SEPARATOR).upper()


def require_key(key: str) -> None:
    """Raise UnknownSetting, which names the nearest one, if there is no such setting."""
    if key not in KEYS:
        raise UnknownSetting(key)


def set_in_file(file: Path, key: str, text: object) -> tuple[str, ...]:
    """Write one value; comments and unknown keys of the file stay.

    Returns:
        Sentences about what was set aside, as in `Layered.problems`.

    Raises:
        SettingsError: The value or the key cannot be used; the file is unharmed.
        OSError: The file cannot be read or written; it is unharmed.
    """
    value = check(key, text)
    plain = list(value) if isinstance(value, tuple) else value
    section, name = key.split(".", 1)
    problems: list[str] = []
    with locked(file):
        document = _document(file, problems)
        table = document.setdefault(section, tomlkit.table())
        if not isinstance(table, dict):
            raise SettingsError(
                key, text, f"a table [{section}] in the file, where another value has that name"
            )
        table[name] = plain
        _write(file, document, key, plain)
    return tuple(problems)


def reset_in_file(file: Path, key: str) -> tuple[str, ...]:
    """Remove one value from the file, so that its default counts again.

    Returns:
        Sentences about what was set aside.

    Raises:
        SettingsError: There is no such key.
        OSError: The file cannot be read or written; it is unharmed.
    """
    require_key(key)
    section, name = key.split(".", 1)
    problems: list[str] = []
    with locked(file):
        document = _document(file, problems)
        table = document.get(section)
        if isinstance(table, dict) and name in table:
            del table[name]
            _write(file, document, key, None)
    return tuple(problems)


def _document(file: Path, problems: list[str]) -> tomlkit.TOMLDocument:
    _parse_or_set_aside(file, problems)
    text = file.read_bytes().decode("utf-8-sig") if file.exists() else ""
    try:
        return tomlkit.parse(text)
    except TOMLKitError as error:  # stricter than tomllib in rare corners
        raise SettingsError(file.name, str(error), "a file that can be edited by program") from None


def _write(file: Path, document: tomlkit.TOMLDocument, key: str, value: object) -> None:
    text = tomlkit.dumps(document)
    section, name = key.split(".", 1)
    # The style-keeping writer is the one part that could spoil the file, so its work is read back.
    if tomllib.loads(text).get(section, {}).get(name) != value:
        raise SettingsError(
            key, value, "set by hand only: the file's layout is beyond homeai's editor"
        )
    write_private(file, text.encode())


def _from_file(file: Path, problems: list[str]) -> dict[str, object]:
    try:
        try:
            parsed = _parse(file)
        except _BROKEN:
            with locked(file):  # another process may have repaired it, or set it aside, meanwhile
                parsed = _parse_or_set_aside(file, problems)
    except OSError as error:
        problems.append(f"{file.name} could not be read ({error.strerror}); defaults are used")
        return {}
    values: dict[str, object] = {}
    for section, table in parsed.items():
        if section not in SECTIONS:
            continue  # unknown tables and keys survive, unread
        if not isinstance(table, dict):
            problems.append(f"{file.name}: {section} is not a table; it is ignored")
            continue
        known = SECTIONS[section].model_fields
        values |= {f"{section}.{name}": value for name, value in table.items() if name in known}
    return values


def _parse(file: Path) -> dict[str, object]:
    try:
        return tomllib.loads(file.read_bytes().decode("utf-8-sig"))
    except FileNotFoundError:
        return {}


def _parse_or_set_aside(file: Path, problems: list[str]) -> dict[str, object]:
    try:
        return _parse(file)
    except _BROKEN as error:
        numbered = (file.with_name(f"{file.name}.broken-{n}") for n in itertools.count(1))
        kept = next(target for target in numbered if not target.exists())
        file.replace(kept)
        problems.append(
            f"{file.name} could not be read ({_short(error)}); it was kept as {kept.name}, "
            "and defaults are used"
        )
        return {}


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
            hint = f"; did you mean {variable_of(near[0])}?" if near else ""
            problems.append(f"the variable {variable} names no setting{hint}")
    return values


def _from_flags(flags: Sequence[str]) -> dict[str, object]:
    values: dict[str, object] = {}
    for flag in flags:
        key, equals, value = flag.partition("=")
        if not equals:
            raise SettingsError("--set", flag, "section.key=value")
        require_key(key.strip())
        values[key.strip()] = value.strip()
    return values


def _allowed(section: type[BaseModel], name: str, error: ValidationError) -> str:
    schema = section.model_json_schema()["properties"][name]
    if "enum" in schema:
        return ", ".join(map(str, schema["enum"]))
    if "anyOf" in schema:
        count = next(choice for choice in schema["anyOf"] if "minimum" in choice)
        return f"auto or a whole number from {count['minimum']} to {count['maximum']}"
    kind = {"integer": "a whole number", "number": "a number"}.get(schema.get("type"))
    if kind is not None:
        return f"{kind} {_range(schema)}"
    if schema.get("type") == "array":
        return "a list of texts without control characters"
    message = error.errors()[0]["msg"]
    return message.removeprefix("Value error, ")


def _range(schema: Mapping[str, Any]) -> str:
    unit = f" {schema['unit']}" if schema["unit"] else ""
    example = " (8G is understood)" if schema["unit"] == "MiB" else ""
    low = schema.get("minimum")
    start = f"more than {schema['exclusiveMinimum']}" if low is None else f"from {low}"
    return f"{start} to {schema['maximum']}{unit}{example}"


def _short(value: object) -> str:
    text = str(value) if isinstance(value, Exception) else repr(value)
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}…"
