"""What may be said of a tool beyond its function; all of it optional."""

import functools
import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypedDict, cast

from mcpfleet.errors import RegistrationError
from mcpfleet.protocol.messages.content import Icon
from mcpfleet.protocol.messages.tools import ToolAnnotations
from mcpfleet.server.signature import unwrapped


class Options(TypedDict, total=False):
    """The keywords of `Server.tool`; None is as good as leaving one out."""

    name: str | None
    """Unique in the server; else the function's name, or the class's in snake_case."""
    title: str | None
    """For people."""
    description: str | None
    """For models; else the docstring."""
    annotations: ToolAnnotations | None
    """Hints on what the tool does to the world."""
    input_schema: Mapping[str, Any] | None
    """A JSON Schema in place of the one that the parameters describe; arguments are then not converted."""
    output_schema: Mapping[str, Any] | None
    """A JSON Schema in place of the one that the return annotation describes."""
    meta: dict[str, Any] | None
    """The `_meta` of the tool's definition."""
    icons: Sequence[Icon] | None
    timeout: float | None
    """Seconds that one call may take."""


_WORDS: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


def opened(tool: Any, given: Options) -> tuple[Callable[..., Any], Options]:
    """The function of a tool, and its options; `given` ones go before those that the tool has of its own.

    A tool may be a class, of which one instance is made, or an instance: `__call__` is the function, and class
    attributes are the options.
    """
    if isinstance(tool, type):
        tool = _instance(tool)
    if not callable(tool):
        raise RegistrationError(f"{type(tool).__name__} is not callable, so it cannot be a tool")
    own: dict[str, Any] = {}
    if inspect.isroutine(tool) or isinstance(tool, functools.partial):
        own["name"] = getattr(unwrapped(tool), "__name__", None)
    else:
        kind = type(tool)
        own["name"] = _WORDS.sub("_", kind.__name__).lower()
        own |= {name: getattr(kind, name) for name in Options.__annotations__ if hasattr(kind, name)}
    return tool, cast("Options", own | {name: value for name, value in given.items() if value is not None})


def _instance(kind: type) -> Any:
    try:
        return kind()
    except TypeError as error:
        raise RegistrationError(
            f"{kind.__name__} cannot be made without arguments, so give an instance: {error}"
        ) from None
