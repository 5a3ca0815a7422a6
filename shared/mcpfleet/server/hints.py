"""What a type hint is made of."""

import contextlib
import dataclasses
import typing
from collections.abc import Iterator
from types import GenericAlias, NoneType, UnionType
from typing import Annotated, Any


def unwrapped(hint: Any) -> Any:
    """A hint without its `Annotated` metadata, and what a name given to it by a `type` statement stands for."""
    if typing.get_origin(hint) is Annotated:
        return unwrapped(typing.get_args(hint)[0])
    return unwrapped(hint.__value__) if is_alias(hint) else hint


def members(hint: Any) -> tuple[Any, ...]:
    """The members of a union, without metadata; of any other hint, itself alone."""
    hint = unwrapped(hint)
    if is_union(hint):
        return tuple(inner for member in typing.get_args(hint) for inner in members(member))
    return (NoneType if hint is None else hint,)


def is_alias(hint: Any) -> bool:
    """Whether it comes from a `type` statement, or from its equal for older interpreters."""
    return type(hint).__name__ == "TypeAliasType"


def is_union(hint: Any) -> bool:
    """Whether it is a union in either of its two spellings."""
    return isinstance(hint, UnionType) or typing.get_origin(hint) is typing.Union


def plain_text(hint: Any) -> str | None:
    """The plain string in `Annotated[T, "a description"]`."""
    if typing.get_origin(hint) is not Annotated:
        return None
    return next((meta for meta in hint.__metadata__ if isinstance(meta, str)), None)


def without_object(hint: Any) -> Any:
    """The hint with `object` read as `Any`, wherever it stands: both take every JSON value."""
    if hint is object:
        return Any
    arguments = typing.get_args(hint)
    if typing.get_origin(hint) is Annotated:
        return Annotated[(without_object(arguments[0]), *hint.__metadata__)]
    if is_union(hint):
        return typing.Union[tuple(map(without_object, arguments))]  # noqa: UP007 - its members are known only now
    origin = typing.get_origin(hint)
    if isinstance(hint, GenericAlias) and isinstance(origin, type) and issubclass(origin, list | dict | tuple | set):
        return GenericAlias(origin, tuple(map(without_object, arguments)))
    return hint


def is_pydantics(hint: Any) -> bool:
    """Whether any part of a hint follows rules of pydantic's, which msgspec would overlook."""
    return any(map(_is_pydantics, parts(hint)))


def _is_pydantics(part: Any) -> bool:
    if isinstance(part, type):
        return hasattr(part, "__pydantic_core_schema__") or hasattr(part, "__get_pydantic_core_schema__")
    return type(part).__module__.partition(".")[0] in ("pydantic", "annotated_types")


def parts(hint: Any, seen: dict[int, Any] | None = None) -> Iterator[Any]:
    """The hint and all that it is made of, each once: type arguments, metadata, the fields of classes."""
    seen = {} if seen is None else seen
    if id(hint) in seen:
        return
    seen[id(hint)] = hint  # kept, so that nothing else comes to have its id
    yield hint
    inner = [*typing.get_args(hint), *getattr(hint, "__metadata__", ())]
    if is_alias(hint):
        inner.append(hint.__value__)
    if _has_fields(hint):
        with contextlib.suppress(
            NameError, TypeError, AttributeError, SyntaxError
        ):  # whoever reads the class says what is wrong with it
            inner += typing.get_type_hints(hint, include_extras=True).values()
    for part in inner:
        yield from parts(part, seen)


def _has_fields(hint: Any) -> bool:
    return isinstance(hint, type) and (dataclasses.is_dataclass(hint) or hasattr(hint, "__annotations__"))
