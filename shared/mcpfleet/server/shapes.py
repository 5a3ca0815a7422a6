"""Type hints put to use: JSON values read into them, Python values written from them.

msgspec does the work. A hint that it cannot do, or that follows rules of pydantic's, is left to pydantic where that is
installed; nothing here imports it before a hint needs it.
"""

import importlib
from types import NoneType
from typing import Any, Final, Literal, Protocol

import msgspec

from mcpfleet.errors import RegistrationError
from mcpfleet.server import hints

Direction = Literal["validation", "serialization"]
"""Whether values come in or go out; pydantic's hints may describe the two differently."""


class Misfit(Exception):
    """A JSON value does not fit a hint: the complaints, each beginning with the path of what is wrong.

    It stays inside the engine: callers get `ArgumentsRefused`.
    """

    def __init__(self, *complaints: str) -> None:
        super().__init__(*complaints)
        self.complaints = complaints


class Shape(Protocol):
    """One hint, ready for use."""

    def read(self, value: Any, name: str) -> Any:
        """The JSON value as the hint wants it; `Misfit`, with paths that begin with `name`, if it does not fit."""
        ...

    def write(self, value: Any, *, stable: bool = False) -> Any:
        """A Python value as JSON values; raises `TypeError` or `ValueError` for what has no JSON form.

        `stable`: sets come out in the same order in every process.
        """
        ...


class Native:
    """A hint that msgspec reads."""

    __slots__ = ("hint",)

    def __init__(self, hint: Any) -> None:
        self.hint = hint

    def read(self, value: Any, name: str) -> Any:
        """Read strictly: no string becomes a number, no number a boolean."""
        try:
            return msgspec.convert(value, self.hint, str_keys=True)
        except msgspec.ValidationError as error:
            raise Misfit(_complaint(name, str(error))) from None

    def write(self, value: Any, *, stable: bool = False) -> Any:
        """Write by what the value is, not by the hint."""
        return to_json(value, stable=stable)


def shape(hint: Any, where: str, direction: Direction = "validation") -> Shape:
    """Decide who reads a hint; `RegistrationError`, beginning with `where`, if nobody can."""
    hint = hints.without_object(hint)
    reason = "it follows rules of pydantic's"
    if not hints.is_pydantics(hint):
        try:
            msgspec.json.Decoder(hint)
            msgspec.json.schema_components([hint])
        except (TypeError, ValueError, NameError, RecursionError) as error:
            reason = str(error).strip().rpartition("\n")[2]
        else:
            return Native(hint)
    try:
        foreign = importlib.import_module("mcpfleet.server.foreign")
    except ModuleNotFoundError:
        raise RegistrationError(f"{where}: {reason}, and pydantic is not installed") from None
    adapted: Shape = foreign.adapt(hint, where, direction, reason)
    return adapted


def to_json(value: Any, *, stable: bool = False) -> Any:
    """A Python value as JSON values; raises `TypeError` or `ValueError` for what has no JSON form."""
    if type(value) in _SCALARS:
        return value
    return msgspec.to_builtins(value, str_keys=True, enc_hook=_dumped, order="deterministic" if stable else None)


_SCALARS: Final = frozenset({str, int, float, bool, NoneType})


def _dumped(value: Any) -> Any:
    """What pydantic's models say of themselves."""
    dump = getattr(value, "model_dump", None)
    if dump is None:
        raise TypeError(f"{type(value).__name__} has no JSON form")
    return dump(mode="json", by_alias=True)


def _complaint(name: str, text: str) -> str:
    """What msgspec says ("Expected `int`, got `str` - at `$.x[0]`") in this project's order."""
    message, at, place = text.rpartition(" - at `")
    if not at:
        message, place = text, ""
    key = " (a key)" if place.startswith("key`") else ""
    path = place.removeprefix("key` in `").removeprefix("$").removesuffix("`")
    return f"{name}{path}{key}: {message.replace('`', '')}"
