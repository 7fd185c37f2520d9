"""How one setting is declared: default, bounds, unit, texts, and whether it needs a restart."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from homeai.settings.parsing import parse_auto

AutoOrCount = Annotated[Literal["auto"] | Annotated[int, Field(ge=0)], BeforeValidator(parse_auto)]


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
