"""Launchpad configuration derived from the core's frozen dataclasses, so that the two cannot drift apart."""

import dataclasses
import typing
from functools import cache
from typing import Any

import dagster as dg
import pydantic

from tcg_core.base.errors import ConfigError
from tcg_core.base.settings import MEANING, from_dict
from tcg_core.model.config import ModelError
from tcg_core.recipe import Recipe


@cache
def config_class(cls: type) -> type[dg.Config]:
    """The Dagster configuration of a dataclass: same keys, same defaults, tuples as lists, unknown keys refused."""
    hints = typing.get_type_hints(cls)
    fields: dict[str, Any] = {
        field.name: (_annotation(hints[field.name]), _default(field, hints[field.name])) for field in dataclasses.fields(cls)
    }
    return pydantic.create_model(f"{cls.__name__}Config", __base__=dg.Config, __doc__=cls.__doc__, **fields)


def with_default(cls: type, key: str, default: Any) -> type[dg.Config]:
    """:func:`config_class` of a dataclass whose required ``key`` has a default in the launchpad, given as plain values."""
    [field] = [field for field in dataclasses.fields(cls) if field.name == key]
    # Dagster reads the plain values into its schema; validated they are what a launch that gives nothing gets.
    shown = pydantic.Field(default=default, validate_default=True, description=field.metadata.get(MEANING))
    annotation: Any = _annotation(typing.get_type_hints(cls)[key])
    fields: dict[str, Any] = {key: (annotation, shown)}
    made: type[dg.Config] = pydantic.create_model(
        f"{cls.__name__}Config", __base__=config_class(cls), __doc__=cls.__doc__, **fields
    )
    return made


def plain(config: dg.Config) -> dict[str, Any]:
    """The values of a configuration as JSON."""
    return config.model_dump()


def recipe_of(values: dict[str, Any]) -> Recipe:
    """The recipe of launchpad values; a selection that chooses nothing means every validated day.

    Raises :class:`tcg_core.base.errors.ConfigError` naming the key.
    """
    selection = dict(values.get("selection", {}))
    if not any(selection.get(name) for name in ("days", "last_n_days", "all_days")):
        selection |= {"all_days": True}
    try:
        return from_dict(Recipe, values | {"selection": selection}, "recipe")
    except ModelError as error:
        raise ConfigError(f"recipe: {error}") from None


def _annotation(hint: Any) -> Any:
    if dataclasses.is_dataclass(hint):
        return config_class(typing.cast(type, hint))
    if typing.get_origin(hint) is tuple:
        return list[_annotation(typing.get_args(hint)[0])]  # type: ignore[misc]
    return hint


def _default(field: "dataclasses.Field[Any]", hint: Any) -> Any:
    description = (hint.__doc__ or "").strip() if dataclasses.is_dataclass(hint) else field.metadata.get(MEANING)
    if field.default_factory is dict:
        return pydantic.Field(default_factory=dict, description=description)
    if dataclasses.is_dataclass(hint):
        return pydantic.Field(default_factory=config_class(typing.cast(type, hint)), description=description)
    default = field.default if field.default is not dataclasses.MISSING else ...
    return pydantic.Field(default=list(default) if isinstance(default, tuple) else default, description=description)


RecipeConfig = config_class(Recipe)
