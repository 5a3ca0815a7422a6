"""What may be said of a tool, a prompt or a resource beyond its function; nearly all of it optional."""

import functools
import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Literal, TypedDict, TypeVar, cast

from mcpfleet.errors import RegistrationError
from mcpfleet.protocol.messages.content import Annotations, Icon
from mcpfleet.protocol.messages.prompts import PromptArgument
from mcpfleet.protocol.messages.tools import ToolAnnotations
from mcpfleet.protocol.wire import CacheHint
from mcpfleet.server.signature import unwrapped

NAME: Final = re.compile(r"[A-Za-z0-9_.-]{1,128}")
"""MCP: server/tools, Tool Names; prompts are named by the same rule."""


class Options(TypedDict, total=False):
    """What may be said of anything; None is as good as leaving it out."""

    name: str | None
    """Else the function's name, or the class's in snake_case."""
    title: str | None
    """For people."""
    description: str | None
    """For models; else the docstring."""
    meta: dict[str, Any] | None
    """The `_meta` of the definition."""
    icons: Sequence[Icon] | None
    timeout: float | None
    """Seconds that one call may take."""


class ToolOptions(Options, total=False):
    """The keywords of `Server.tool`; the name is unique among tools."""

    annotations: ToolAnnotations | None
    """Hints on what the tool does to the world."""
    input_schema: Mapping[str, Any] | None
    """A JSON Schema in place of the one that the parameters describe; arguments are then not converted."""
    limit: int | None
    """How many calls one process runs at once; others wait their turn for a while."""
    task: Literal["never", "optional", "required"] | None
    """Whether a call may become a task, which outlives its request: for clients that take one, or for no others."""
    detach: bool | None
    """False: it begins within its call, and becomes a task where it awaits `Context.detach`."""
    queue: str | None
    """The queue that its tasks wait in, else `default`."""
    task_ttl: float | None
    """Seconds that a task and its result are kept, from its creation; else as the operator says."""
    output_schema: Mapping[str, Any] | None
    """A JSON Schema in place of the one that the return annotation describes."""


class PromptOptions(Options, total=False):
    """The keywords of `Server.prompt`; the name is unique among prompts."""

    arguments: Sequence[PromptArgument] | None
    """What clients are told of the arguments, in place of what the parameters tell."""


class ResourceOptions(Options, total=False):
    """The keywords of `Server.resource`; what is unique is the URI or template."""

    uri: str | None
    """Where a class or an instance says it; a function is given it first."""
    mime_type: str | None
    """Else what the contents tell."""
    size: int | None
    """In bytes, of an exact resource."""
    annotations: Annotations | None
    """For whom it is, how much it matters, when it changed."""
    cache: CacheHint | None
    """How long what was read stays fresh; else as the server says."""


Kind = TypeVar("Kind", bound=Options)

_WORDS: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


def opened(offered: Any, given: Kind, known: type[Kind]) -> tuple[Callable[..., Any], Kind]:
    """The function of what is offered, and its options; `given` ones go before those that it has of its own.

    It may be a class, of which one instance is made, or an instance: `__call__` is the function, and class attributes
    are the options.
    """
    unknown = sorted(given.keys() - _keywords(known))
    if unknown:
        raise RegistrationError(f"there is no option {unknown[0]!r}; there are {', '.join(sorted(_keywords(known)))}")
    offered = called(offered)
    own: dict[str, Any] = {}
    if inspect.isroutine(offered) or isinstance(offered, functools.partial):
        own["name"] = getattr(unwrapped(offered), "__name__", None)
    else:
        kind = type(offered)
        own["name"] = _WORDS.sub("_", kind.__name__).lower()
        own |= {name: getattr(kind, name) for name in _keywords(known) if hasattr(kind, name)}
    return offered, cast("Kind", own | {name: value for name, value in given.items() if value is not None})


def called(offered: Any) -> Callable[..., Any]:
    """What is called of what is offered: one instance of a class, and anything else itself."""
    if isinstance(offered, type):
        offered = _instance(offered)
    if not callable(offered):
        raise RegistrationError(f"{type(offered).__name__} is not callable, so it cannot be served")
    function: Callable[..., Any] = offered
    return function


def checked_name(name: Any, kind: str) -> str:
    """The name itself, if it is one that every client takes; else `RegistrationError`."""
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise RegistrationError(f"{str(name)[:140]!r} is no {kind} name: 1 to 128 of the characters A-Z a-z 0-9 _ - .")
    return name


def checked_seconds(seconds: float | None, where: str, option: str = "timeout") -> float | None:
    """The option itself; `RegistrationError` if it is no length of time."""
    is_number = isinstance(seconds, int | float) and not isinstance(seconds, bool)
    if seconds is not None and not (is_number and 0 < seconds < float("inf")):
        raise RegistrationError(f"{where}: {option} must be a positive number of seconds")
    return seconds


def checked_cache(cache: CacheHint | None, where: str) -> CacheHint | None:
    """The hint itself; `RegistrationError` if it is none."""
    if cache is not None and not isinstance(cache, CacheHint):
        raise RegistrationError(f"{where}: cache must be a CacheHint")
    return cache


def checked_limit(limit: int | None, where: str) -> int | None:
    """The limit itself; `RegistrationError` if it lets nobody in."""
    if limit is not None and (type(limit) is not int or limit < 1):
        raise RegistrationError(f"{where}: limit must be a whole number from 1")
    return limit


def _keywords(known: Any) -> frozenset[str]:
    keywords: frozenset[str] = known.__optional_keys__
    return keywords


def _instance(kind: type) -> Any:
    try:
        return kind()
    except TypeError as error:
        raise RegistrationError(
            f"{kind.__name__} cannot be made without arguments, so give an instance: {error}"
        ) from None
