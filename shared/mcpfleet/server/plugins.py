"""What installed packages register through entry points.

An entry point in the group `mcpfleet.tools` is one of: a function, which becomes a tool; a `Tool`; an iterable of these
two; or a function that registers by itself. The last is told apart by its signature: it has exactly one parameter, and
that is annotated with the server's class (`def register(server: Server) -> None`); no tool's argument can be. The
groups `mcpfleet.prompts` and `mcpfleet.resources` are alike; what is to be a resource is a class or an instance, which
says its `uri`.
"""

import inspect
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Final, Protocol

from mcpfleet.errors import RegistrationError
from mcpfleet.server.prompt import Prompt
from mcpfleet.server.resource import ServedResource, ServedTemplate
from mcpfleet.server.tool import Tool

TOOLS: Final = "mcpfleet.tools"
PROMPTS: Final = "mcpfleet.prompts"
RESOURCES: Final = "mcpfleet.resources"
GROUPS: Final = (TOOLS, PROMPTS, RESOURCES)


class Registrar(Protocol):
    """What plugins register with: a server."""

    def tool(self, function: Callable[..., Any], /) -> Any:
        """Register a function as a tool."""
        ...

    def add_tool(self, tool: Tool, /) -> Any:
        """Register a tool."""
        ...

    def prompt(self, function: Callable[..., Any], /) -> Any:
        """Register a function as a prompt."""
        ...

    def add_prompt(self, prompt: Prompt, /) -> Any:
        """Register a prompt."""
        ...

    def resource(self, function: Callable[..., Any], /) -> Any:
        """Register a class or an instance, which says its URI, as a resource."""
        ...

    def add_resource(self, resource: ServedResource | ServedTemplate, /) -> Any:
        """Register a resource."""
        ...


def load(server: Registrar, groups: Sequence[str] = GROUPS) -> None:
    """Register what every entry point of the groups offers, ordered by distribution and name.

    The first one that cannot be loaded or registered stops the start: `RegistrationError` names it and its
    distribution.
    """
    for group in groups:
        for entry in sorted(entry_points(group=group), key=_order):
            try:
                _register(server, group, entry.load())
            except (Exception, SystemExit) as error:  # what a plugin raises must not end the start unnamed
                reason = str(error) if isinstance(error, RegistrationError) else f"{type(error).__name__}: {error}"
                raise RegistrationError(f"{_described(entry)}: {reason}") from error


def _register(server: Registrar, group: str, offered: Any) -> None:
    if _wants_server(offered, server):
        offered(server)
    elif isinstance(offered, Iterable) and not isinstance(offered, str | bytes | Mapping):
        for one in offered:
            _register_one(server, group, one)
    else:
        _register_one(server, group, offered)


def _register_one(server: Registrar, group: str, offered: Any) -> None:
    if isinstance(offered, Tool):
        server.add_tool(offered)
    elif isinstance(offered, Prompt):
        server.add_prompt(offered)
    elif isinstance(offered, ServedResource | ServedTemplate):
        server.add_resource(offered)
    elif not callable(offered):
        raise RegistrationError(f"{type(offered).__name__} is neither a function, a Tool nor an iterable of them")
    elif group == PROMPTS:
        server.prompt(offered)
    elif group == RESOURCES:
        server.resource(offered)
    else:
        server.tool(offered)


def _wants_server(offered: Any, server: Registrar) -> bool:
    if not inspect.isroutine(offered):
        return False
    parameters = list(inspect.signature(offered).parameters)
    if len(parameters) != 1:
        return False
    hint = typing.get_type_hints(offered).get(parameters[0])
    return isinstance(hint, type) and hint is not object and isinstance(server, hint)


def _order(entry: EntryPoint) -> tuple[str, str, str]:
    return (entry.dist.name if entry.dist else "", entry.name, entry.value)


def _described(entry: EntryPoint) -> str:
    origin = f"{entry.dist.name} {entry.dist.version}" if entry.dist else "an unknown distribution"
    return f"entry point {entry.name!r} ({entry.value}) in {entry.group}, of {origin}"
