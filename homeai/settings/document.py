"""docs/SETTINGS.md, made from the declarations."""

from __future__ import annotations

from typing import Any

from homeai.settings.schema import SECTIONS


def markdown() -> str:
    """Return the page: one table a section."""
    lines = [
        "# Settings",
        "",
        "Made from the declarations by `homeai settings document`; do not edit.",
        "",
        "Defaults < file (`homeai settings path`) < `HOMEAI_SECTION__KEY` < flags (`--set section.key=value`).",
    ]
    for section, cls in SECTIONS.items():
        lines += ["", f"## {section}", "", (cls.__doc__ or "").strip(), ""]
        lines += ["| setting | default | allowed | meaning |", "|---|---|---|---|"]
        properties = cls.model_json_schema()["properties"]
        for name, schema in properties.items():
            unit = f" {schema['unit']}" if schema.get("unit") else ""
            restart = " Takes effect after a restart." if schema.get("restart") else ""
            lines.append(
                f"| `{section}.{name}` | `{_default(schema.get('default'))}` | {_allowed(schema)}{unit} "
                f"| {schema['title']}. {schema['description']}{restart} |"
            )
    return "\n".join(lines) + "\n"


def _default(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value)) or "empty"
    return str(value) if value != "" else "empty"


def _allowed(schema: dict[str, Any]) -> str:
    if "enum" in schema:
        return " · ".join(map(str, schema["enum"]))
    if schema.get("type") == "boolean":
        return "yes · no"
    if "anyOf" in schema:
        count = next(choice for choice in schema["anyOf"] if "minimum" in choice)
        return f"auto · {count['minimum']} … {count['maximum']}"
    low = schema.get("minimum", schema.get("exclusiveMinimum"))
    if low is not None:
        above = "> " if "exclusiveMinimum" in schema else ""
        return f"{above}{low} … {schema['maximum']}"
    return "list, comma-separated" if schema.get("type") == "array" else "text"
