"""One function offered as one kind of thing, whatever kind a test is about."""

from collections.abc import Callable
from typing import Any

from mcpfleet import Server


def tool(server: Server, function: Callable[..., Any]) -> None:
    """A tool x."""
    server.tool(name="x")(function)


def prompt(server: Server, function: Callable[..., Any]) -> None:
    """A prompt x."""
    server.prompt(name="x")(function)


def resource(server: Server, function: Callable[..., Any]) -> None:
    """A resource x at x://x."""
    server.resource("x://x", name="x")(function)


def lister(server: Server, function: Callable[..., Any]) -> None:
    """What lists further resources."""
    server.list_resources(function)
