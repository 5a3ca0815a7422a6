"""What installed packages register through entry points.

An entry point in the group `mcpfleet.tools` is one of: a function, which becomes a tool; a `Tool`; an iterable of these
two; or a function that registers by itself. The last is told apart by its signature: it has exactly one parameter, and
that is annotated with the server's class (`def register(server: Server) -> None`).
"""

import inspect
import typing
from collections.abc import Callable, Iterable, Sequence
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Final, Protocol

from mcpfleet.errors import RegistrationError
from mcpfleet.server.tool import Tool

TOOLS: Final = "mcpfleet.tools"


class Registrar(Protocol):
    """What plugins register with: a server."""

    def tool(self, function: Callable[..., Any], /) -> Any:
        """Register a function as a tool."""
        ...

    def add_tool(self, tool: Tool, /) -> Any:
        """Register a tool."""
        ...


def load(server: Registrar, groups: Sequence[str] = (TOOLS,)) -> None:
    """Register what every entry point of the groups offers, ordered by distribution and name.

    The first one that cannot be loaded or registered stops the start: `RegistrationError` names it and its
    distribution.
    """
    for group in groups:
        for entry in sorted(entry_points(group=group), key=_order):
            try:
                _register(server, entry.load())
            except Exception as error:  # named boundary: a plugin's import may raise anything
                raise RegistrationError(f"{_described(entry)}: {type(error).__name__}: {error}") from error


def _register(server: Registrar, offered: Any) -> None:
    if isinstance(offered, Tool):
        server.add_tool(offered)
    elif isinstance(offered, Iterable) and not isinstance(offered, str | bytes):
        for one in offered:
            if not isinstance(one, Tool) and not callable(one):
                raise RegistrationError(f"{type(one).__name__} is neither a function nor a Tool")
            _register(server, one)
    elif not callable(offered):
        raise RegistrationError(f"{type(offered).__name__} is neither a function, a Tool nor an iterable of them")
    elif _wants_server(offered, server):
        offered(server)
    else:
        server.tool(offered)


def _wants_server(function: Callable[..., Any], server: Registrar) -> bool:
    parameters = list(inspect.signature(function).parameters)
    if len(parameters) != 1 or not inspect.isroutine(function):
        return False
    hint = typing.get_type_hints(function).get(parameters[0])
    return isinstance(hint, type) and hint is not object and isinstance(server, hint)


def _order(entry: EntryPoint) -> tuple[str, str, str]:
    return (entry.dist.name if entry.dist else "", entry.name, entry.value)


def _described(entry: EntryPoint) -> str:
    origin = f"{entry.dist.name} {entry.dist.version}" if entry.dist else "an unknown distribution"
    return f"entry point {entry.name!r} ({entry.value}) in {entry.group}, of {origin}"
