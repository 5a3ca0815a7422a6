"""Type hints put to use: JSON values read into them, and what JSON Schema says of them.

msgspec does the work. A hint that it cannot do, or that carries pydantic's own types or metadata, is left to pydantic
where that is installed; nothing here imports it before a hint needs it.
"""

import contextlib
import dataclasses
import importlib
import re
import typing
from collections.abc import Iterator, Sequence
from types import GenericAlias, UnionType
from typing import Annotated, Any, Final, Literal, Protocol

import msgspec

from mcpfleet.errors import RegistrationError

DEFS: Final = "#/$defs/"

Definitions = dict[str, Any]
Direction = Literal["validation", "serialization"]
"""Whether a schema is for values that come in or that go out; only pydantic tells the two apart."""


class Misfit(Exception):
    """A JSON value does not fit a hint: the complaints, each beginning with the path of what is wrong."""

    def __init__(self, *complaints: str) -> None:
        super().__init__(*complaints)
        self.complaints = complaints


class Shape(Protocol):
    """One hint, ready for use."""

    def read(self, value: Any, name: str) -> Any:
        """The JSON value as the hint wants it; `Misfit`, with paths that begin with `name`, if it does not fit."""
        ...

    def write(self, value: Any) -> Any:
        """A Python value as JSON values; raises `TypeError` or `ValueError` for what has no JSON form."""
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

    def write(self, value: Any) -> Any:
        """Write by what the value is; models of pydantic inside it dump themselves."""
        return to_json(value)


def shape(hint: Any, where: str, direction: Direction = "validation") -> Shape:
    """Decide who reads a hint; `RegistrationError`, beginning with `where`, if nobody can."""
    hint = _plain(hint)
    reason: Exception | None = None
    if not any(_is_pydantics(part) for part in _parts(hint, set())):
        try:
            msgspec.json.Decoder(hint)
            msgspec.json.schema_components([hint])
        except (TypeError, ValueError, NameError, RecursionError) as error:
            reason = error
        else:
            return Native(hint)
    try:
        foreign = importlib.import_module("mcpfleet.server.foreign")
    except ModuleNotFoundError:
        raise RegistrationError(f"{where}: {_first_line(reason) or 'its type'} (pydantic is not installed)") from None
    adapted: Shape = foreign.adapt(hint, where, direction, _first_line(reason))
    return adapted


def describe(shapes: Sequence[Shape], direction: Direction = "validation") -> tuple[list[Any], Definitions]:
    """The schema of each shape, in order, and the definitions under `#/$defs/` that they refer to."""
    natives = [one for one in shapes if isinstance(one, Native)]
    schemas, definitions = msgspec.json.schema_components([one.hint for one in natives], ref_template=DEFS + "{name}")
    found = dict(zip(map(id, natives), schemas, strict=True))
    others = [one for one in shapes if not isinstance(one, Native)]
    if others:
        foreign = importlib.import_module("mcpfleet.server.foreign")
        more, more_definitions = foreign.describe(others, direction, taken=definitions)
        found |= zip(map(id, others), more, strict=True)
        definitions |= more_definitions
    return [found[id(one)] for one in shapes], definitions


def to_json(value: Any) -> Any:
    """A Python value as JSON values; raises `TypeError` or `ValueError` for what has no JSON form."""
    return msgspec.to_builtins(value, str_keys=True, enc_hook=_dumped)


def _dumped(value: Any) -> Any:
    dump = getattr(value, "model_dump", None)
    if dump is None:
        raise TypeError(f"{type(value).__name__} has no JSON form")
    return dump(mode="json", by_alias=True)


_AT: Final = re.compile(r"(?P<message>.*?)(?: - at `(?:(?P<key>key)` in `)?\$(?P<path>.*)`)?", re.DOTALL)


def _complaint(name: str, text: str) -> str:
    """What msgspec says ("Expected `int`, got `str` - at `$.x[0]`") in this project's order."""
    match = _AT.fullmatch(text)
    if match is None:
        return f"{name}: {text}"
    key = " (a key)" if match["key"] else ""
    return f"{name}{match['path'] or ''}{key}: {match['message'].replace('`', '')}"


def _plain(hint: Any) -> Any:
    """The hint with `object` read as `Any`, wherever it stands."""
    if hint is object:
        return Any
    arguments = typing.get_args(hint)
    if typing.get_origin(hint) is Annotated:
        return Annotated[(_plain(arguments[0]), *hint.__metadata__)]
    if object not in arguments and not any(map(typing.get_args, arguments)):
        return hint
    if isinstance(hint, UnionType) or typing.get_origin(hint) is typing.Union:
        return typing.Union[tuple(map(_plain, arguments))]  # noqa: UP007 - the members are known at run time only
    if isinstance(hint, GenericAlias) and isinstance(typing.get_origin(hint), type):
        return GenericAlias(typing.get_origin(hint), tuple(map(_plain, arguments)))
    return hint


def _parts(hint: Any, seen: set[int]) -> Iterator[Any]:
    """The hint and everything that it is made of: type arguments, metadata, the fields of classes."""
    if id(hint) in seen:
        return
    seen.add(id(hint))
    yield hint
    inner = [*typing.get_args(hint), *getattr(hint, "__metadata__", ())]
    if isinstance(hint, type) and (dataclasses.is_dataclass(hint) or hasattr(hint, "__annotations__")):
        with contextlib.suppress(NameError, TypeError):  # msgspec says what is wrong with it
            inner += typing.get_type_hints(hint, include_extras=True).values()
    for part in inner:
        yield from _parts(part, seen)


def _is_pydantics(part: Any) -> bool:
    """Whether pydantic must read a hint with this part: msgspec would overlook its rules."""
    if isinstance(part, type):
        return hasattr(part, "__pydantic_core_schema__") or hasattr(part, "__get_pydantic_core_schema__")
    return type(part).__module__.partition(".")[0] in ("pydantic", "annotated_types")


def _first_line(error: Exception | None) -> str:
    return str(error).strip().rpartition("\n")[2] if error else ""
