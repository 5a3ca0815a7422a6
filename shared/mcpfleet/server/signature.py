"""What a function's signature says: its parameters, what it returns, and what its docstring tells of both."""

import functools
import inspect
import sys
import typing
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Annotated, Any, Final

from mcpfleet.errors import RegistrationError
from mcpfleet.server import docstrings
from mcpfleet.server.depends import dependency
from mcpfleet.server.hints import members, plain_text

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
class Dependency:
    """A parameter that the server fills by calling another function."""

    name: str
    function: Callable[..., Any]
    signature: "Signature"


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
    dependencies: tuple[Dependency, ...] = ()
    """The parameters that other functions fill."""

    @property
    def filled(self) -> tuple[str, ...]:
        """The parameters that the server fills, so that no client can."""
        return (*self.contexts, *(one.name for one in self.dependencies))


def read(
    function: Callable[..., Any], context_type: type, where: str, *, within: tuple[Callable[..., Any], ...] = ()
) -> Signature:
    """Read a function's signature; `RegistrationError` if its annotations do not resolve or it takes `*args`.

    `within` are the functions that depend on this one.
    """
    target = unwrapped(function)
    hints = _hints(target, where)
    given: list[inspect.Parameter] = []
    contexts: list[str] = []
    dependencies: list[Dependency] = []
    open_ended = False
    for parameter in _parameters(function, where):
        if parameter.kind is inspect.Parameter.VAR_KEYWORD:
            open_ended = True
        elif parameter.kind not in _BY_NAME or parameter.name.startswith("__"):
            raise RegistrationError(f"{where}: parameter {parameter.name!r} cannot be given by name")
        elif _is_context(hints.get(parameter.name), context_type):
            contexts.append(parameter.name)
        elif (depends := dependency(hints.get(parameter.name))) is not None:
            further = (*within, function)
            dependencies.append(_dependency(parameter.name, depends.function, context_type, where, further))
        else:
            given.append(parameter)
    description, said = docstrings.read(target.__doc__, {parameter.name for parameter in given})
    parameters = tuple(_read(one, hints.get(one.name, Any), said.get(one.name)) for one in given)
    returns = hints.get("return", Any)
    return Signature(parameters, tuple(contexts), open_ended, returns, description, tuple(dependencies))


def unwrapped(function: Callable[..., Any]) -> Any:
    """The function inside any number of `functools.partial`."""
    while isinstance(function, functools.partial):
        function = function.func
    return function


def _dependency(
    name: str, function: Callable[..., Any], context_type: type, where: str, within: tuple[Callable[..., Any], ...]
) -> Dependency:
    where = f"{where}: what {name!r} depends on"
    if not callable(function):
        raise RegistrationError(f"{where} is no function")
    if function in within:
        raise RegistrationError(f"{where} depends on itself")
    declared = read(function, context_type, where, within=within)
    for one in declared.parameters:
        if one.required:
            raise RegistrationError(f"{where}: nobody can give parameter {one.name!r}")
    return Dependency(name, function, declared)


def _parameters(function: Callable[..., Any], where: str) -> Iterable[inspect.Parameter]:
    try:
        return inspect.signature(function).parameters.values()
    except ValueError as error:
        raise RegistrationError(f"{where}: {error}") from None


def _hints(target: Any, where: str) -> dict[str, Any]:
    if not (inspect.isroutine(target) or inspect.isclass(target)):
        target = type(target).__call__
    try:
        return typing.get_type_hints(target, include_extras=True)
    except (NameError, AttributeError, TypeError, SyntaxError) as error:
        raise RegistrationError(f"{where}: its annotations do not resolve: {error}") from None


def _read(parameter: inspect.Parameter, hint: Any, said: str | None) -> Parameter:
    default = parameter.default
    pydantic_fields = sys.modules.get("pydantic.fields")
    if pydantic_fields and isinstance(default, pydantic_fields.FieldInfo):  # `days: int = Field(3, ge=1)`
        hint = Annotated[hint, default]
        default = REQUIRED if default.is_required() else default.get_default(call_default_factory=True)
    return Parameter(parameter.name, hint, default, plain_text(hint) or said)


def _is_context(hint: Any, context_type: type) -> bool:
    return any(isinstance(member, type) and issubclass(member, context_type) for member in members(hint))
