"""Frozen dataclasses as configuration: unknown keys refused, defaults visible, identity = hash of canonical JSON."""

import dataclasses
import json
import types
import typing
from pathlib import Path
from typing import Any, TypeVar

from tcg_core.base.atomic import write_json
from tcg_core.base.digest import sha256_json
from tcg_core.base.errors import ConfigError, TcgError

T = TypeVar("T")
#: Key of a field's metadata under which :func:`told` keeps what it means.
MEANING = "meaning"


def told(meaning: str) -> dict[str, str]:
    """Metadata of a dataclass field whose meaning a launchpad shows beside it."""
    return {MEANING: meaning}


def read_config(path: Path, cls: type[T], default: T | None = None) -> T:
    """Reads the frozen dataclass ``cls`` from a JSON file; ``default``, if one is given, where there is no file.

    Raises :class:`ConfigError` with one line that begins with the file: it cannot be read, is no JSON, or names a key that is
    unknown, given twice, missing or of another type or value.
    """
    if default is not None and not path.exists():
        return default
    try:
        values = json.loads(path.read_text(), object_pairs_hook=_unique, parse_constant=_refuse_constant)
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror or error}") from None
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from None
    except ValueError as error:
        raise ConfigError(f"{path} is not JSON: {error}") from None
    try:
        return from_dict(cls, values)
    except (TcgError, ValueError) as error:  # refusals of the packed part are ValueErrors
        raise ConfigError(f"{path}: {error}") from None


def write_config(path: Path, config: Any) -> Path:
    """Writes a configuration as :func:`read_config` reads it; returns its file."""
    write_json(path, to_dict(config))
    return path


def from_dict(cls: type[T], values: dict[str, Any], where: str = "") -> T:
    """Builds the frozen dataclass ``cls`` from plain JSON values; nested dataclasses and tuples are converted.

    Raises :class:`ConfigError` naming the full key for an unknown key, a missing one or a value of another type.
    """
    if not isinstance(values, dict):
        raise ConfigError(f"{where or cls.__name__}: expected a table of keys, found {type(values).__name__}")
    hints = typing.get_type_hints(cls)
    fields = {field.name: field for field in dataclasses.fields(cls)}  # type: ignore[arg-type]  # cls is a dataclass by contract
    unknown = sorted(set(values) - set(fields))
    if unknown:
        raise ConfigError(f"unknown key {_join(where, unknown[0])}; known keys: {', '.join(sorted(fields))}")
    arguments: dict[str, Any] = {}
    for name, field in fields.items():
        if name in values:
            arguments[name] = _convert(hints[name], values[name], _join(where, name))
        elif field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING:
            raise ConfigError(f"key {_join(where, name)} is missing")
    return cls(**arguments)


def to_dict(config: Any) -> dict[str, Any]:
    """Plain JSON values of a configuration, tuples as lists."""
    return {field.name: _plain(getattr(config, field.name)) for field in dataclasses.fields(config)}


def identity(config: Any) -> str:
    """Hex SHA-256 of the canonical JSON of a configuration."""
    return sha256_json(to_dict(config))


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise ConfigError(f"key {key} is given twice, with {found[key]!r} and {value!r}")
        found[key] = value
    return found


def _refuse_constant(name: str) -> None:
    raise ConfigError(f"expected a number, found {name}")


def _plain(value: Any) -> Any:
    if dataclasses.is_dataclass(value):
        return to_dict(value)
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    return value


def _join(where: str, name: str) -> str:
    return f"{where}.{name}" if where else name


def _convert(hint: Any, value: Any, where: str) -> Any:
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        return value if isinstance(value, hint) else from_dict(hint, value, where)
    if origin in (typing.Union, types.UnionType):
        if value is None and type(None) in arguments:
            return None
        inner = [argument for argument in arguments if argument is not type(None)]
        return _convert(inner[0], value, where)
    if origin is typing.Literal:
        if value not in arguments:
            raise ConfigError(f"{where}: expected one of {', '.join(map(str, arguments))}, found {value!r}")
        return value
    if origin is tuple:
        if not isinstance(value, list | tuple):
            raise ConfigError(f"{where}: expected a list, found {value!r}")
        return tuple(_convert(arguments[0], item, f"{where}[{index}]") for index, item in enumerate(value))
    if hint is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if isinstance(hint, type) and (not isinstance(value, hint) or (hint is not bool and isinstance(value, bool))):
        raise ConfigError(f"{where}: expected {hint.__name__}, found {value!r}")
    return value
