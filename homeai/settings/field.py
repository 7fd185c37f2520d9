"""How one setting is declared: default, bounds, unit, texts, and whether it needs a restart."""

from __future__ import annotations

import unicodedata
from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationInfo,
    field_validator,
)

from homeai.settings.parsing import parse_auto

_MOST = 10_000
AutoOrCount = Annotated[
    Literal["auto"] | Annotated[int, Field(ge=0, le=_MOST)], BeforeValidator(parse_auto)
]


def setting(
    default: object,
    title: str = "",
    text: str = "",
    *,
    unit: str = "",
    restart: bool = False,
    **bounds: Any,  # noqa: ANN401 -- ge, le … are handed on to pydantic
) -> Any:  # noqa: ANN401 -- as pydantic's own Field, so that it can be any field's default
    """Declare a setting; `bounds` are those of `pydantic.Field`."""
    extra: dict[str, Any] = {"unit": unit, "restart": restart}
    return Field(default, title=title, description=text, json_schema_extra=extra, **bounds)


class Section(BaseModel):
    """A group of settings, immutable; unknown names are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    @field_validator("*", mode="before")
    @classmethod
    def _refuse_a_switch_for_anything_else(cls, value: object, info: ValidationInfo) -> object:
        # Python counts True as 1, so that `concurrency = true` would silently mean one.
        field = cls.model_fields[info.field_name or ""]
        if isinstance(value, bool) and field.annotation is not bool:
            raise ValueError("no yes or no")
        return value

    @field_validator("*", mode="after")
    @classmethod
    def _refuse_control_characters(cls, value: object) -> object:
        texts = value if isinstance(value, tuple) else (value,)
        for text in texts:
            if isinstance(text, str) and any(unicodedata.category(c) in {"Cc", "Cs"} for c in text):
                raise ValueError("text without control characters")
        return value
