"""What a function's signature says: its parameters, what it returns, and what its docstring tells of both."""

import inspect
import typing
from collections.abc import Callable
from dataclasses import dataclass
from types import NoneType, UnionType
from typing import Annotated, Any, Final

from mcpfleet.errors import RegistrationError
from mcpfleet.server import docstrings

REQUIRED: Final = inspect.Parameter.empty
"""The default of a parameter that has none."""

_BY_NAME: Final = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


@dataclass(frozen=True, slots=True)
class Parameter:
    """One argument that the caller may give by name."""

    name: str
    hint: Any
    """The annotation, resolved, with its `Annotated` metadata; `Any` if there is none."""
    default: Any
    description: str | None
    """From the docstring, or a plain string in `Annotated`."""

    @property
    def required(self) -> bool:
        """Whether the function has no default for it."""
        return self.default is REQUIRED


@dataclass(frozen=True, slots=True)
class Signature:
    """A function as the engine calls it: everything by name."""

    parameters: tuple[Parameter, ...]
    contexts: tuple[str, ...]
    """The parameters that take the request's context instead of an argument."""
    open: bool
    """Whether the function takes any further argument (`**kwargs`)."""
    returns: Any
    """The return annotation, resolved; `Any` if there is none."""
    description: str | None


def read(function: Callable[..., Any], context_type: type, where: str) -> Signature:
    """Read a function's signature; `RegistrationError` if its annotations do not resolve or it takes `*args`."""
    hints = _hints(function, where)
    given: list[inspect.Parameter] = []
    contexts: list[str] = []
    open_ended = False
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind is inspect.Parameter.VAR_KEYWORD:
            open_ended = True
        elif parameter.kind not in _BY_NAME:
            raise RegistrationError(f"{where}: parameter {parameter.name!r} cannot be given by name")
        elif _is_context(hints.get(parameter.name), context_type):
            contexts.append(parameter.name)
        else:
            given.append(parameter)
    description, said = docstrings.read(_docstring(function), {parameter.name for parameter in given})
    parameters = tuple(
        Parameter(name, hint, parameter.default, _plain(hint) or said.get(name))
        for parameter in given
        for name, hint in [(parameter.name, hints.get(parameter.name, Any))]
    )
    return Signature(parameters, tuple(contexts), open_ended, hints.get("return", Any), description)


def unwrapped(hint: Any) -> Any:
    """A hint without its `Annotated` metadata."""
    return unwrapped(typing.get_args(hint)[0]) if typing.get_origin(hint) is Annotated else hint


def members(hint: Any) -> tuple[Any, ...]:
    """The members of a union, without metadata; of any other hint, itself alone."""
    hint = unwrapped(hint)
    if typing.get_origin(hint) in (typing.Union, UnionType):
        return tuple(inner for member in typing.get_args(hint) for inner in members(member))
    return (NoneType if hint is None else hint,)


def _hints(function: Callable[..., Any], where: str) -> dict[str, Any]:
    target: Any = function
    while hasattr(target, "func") and hasattr(target, "keywords"):  # functools.partial
        target = target.func
    if not (inspect.isroutine(target) or inspect.isclass(target)):
        target = type(target).__call__
    try:
        return typing.get_type_hints(target, include_extras=True)
    except (NameError, AttributeError, TypeError, SyntaxError) as error:
        raise RegistrationError(f"{where}: its annotations do not resolve: {error}") from None


def _docstring(function: Callable[..., Any]) -> str | None:
    """The function's own docstring, not one that it inherits from its type."""
    doc = function.__doc__
    return None if doc == type(function).__doc__ and not inspect.isroutine(function) else doc


def _is_context(hint: Any, context_type: type) -> bool:
    return any(isinstance(member, type) and issubclass(member, context_type) for member in members(hint))


def _plain(hint: Any) -> str | None:
    """The plain string in `Annotated[T, "a description"]`."""
    if typing.get_origin(hint) is not Annotated:
        return None
    return next((meta for meta in hint.__metadata__ if isinstance(meta, str)), None)
