"""A tool, compiled once: everything that a call needs is decided at registration."""

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import msgspec

from mcpfleet.errors import RegistrationError
from mcpfleet.protocol import jsontext
from mcpfleet.protocol.headers import Headers, Mirrored, mismatch, parameter_map
from mcpfleet.protocol.messages import tools as messages
from mcpfleet.protocol.messages.content import Icon
from mcpfleet.server import outputs, signature
from mcpfleet.server.arguments import Arguments, HandWritten, Typed
from mcpfleet.server.outputs import Output
from mcpfleet.server.schema import Schema
from mcpfleet.server.threads import Threads

NAME: Final = re.compile(r"[A-Za-z0-9_.-]{1,128}")
"""MCP: server/tools, Tool Names."""


@dataclass(frozen=True, slots=True)
class Tool:
    """A function that clients may call, and what they are told of it."""

    definition: messages.Tool
    timeout: float | None
    """Seconds that one call may take; None: no limit of its own."""
    header_map: Sequence[Mirrored]
    """The parameters that clients mirror into HTTP headers."""
    function: Callable[..., Any]
    arguments: Arguments
    output: Output
    contexts: tuple[str, ...]
    is_async: bool

    @property
    def name(self) -> str:
        """Its name, unique in a server."""
        return self.definition.name

    def renamed(self, name: str) -> "Tool":
        """The same tool under another name."""
        return replace(self, definition=msgspec.structs.replace(self.definition, name=checked_name(name)))

    def header_complaint(self, arguments: Mapping[str, Any], headers: Headers) -> str | None:
        """How headers and arguments disagree, in words for the peer; None if they agree."""
        return mismatch(self.header_map, arguments, headers)

    async def call(self, context: object, arguments: Mapping[str, Any], threads: Threads) -> messages.CallToolResult:
        """Call the function; one that is not a coroutine function runs in `threads`.

        Raises `ArgumentsRefused` before the function is called, `Overloaded`, whatever the function raises, and
        `OutputRefused` or `ToolError` for what it returns. A function that tries to end the process only fails.
        """
        keywords = self.arguments.read(arguments)
        for name in self.contexts:
            keywords[name] = context
        try:
            if self.is_async:
                value = await self.function(**keywords)
            else:
                value = await threads.run(self.function, **keywords)
                if inspect.isawaitable(value):
                    value = await value
        except SystemExit as exit_:
            raise RuntimeError("the tool tried to end the process") from exit_
        return self.output.result(value)


def compile_tool(
    function: Callable[..., Any],
    *,
    context_type: type,
    name: str | None = None,
    title: str | None = None,
    description: str | None = None,
    annotations: messages.ToolAnnotations | None = None,
    input_schema: Mapping[str, Any] | None = None,
    output_schema: Mapping[str, Any] | None = None,
    meta: dict[str, Any] | None = None,
    icons: Sequence[Icon] | None = None,
    timeout: float | None = None,
) -> Tool:
    """Make a tool of a function; what is not given is taken from its signature and docstring.

    Parameters annotated `context_type` receive the request's context. Raises `RegistrationError` for anything that
    could not be served.
    """
    name = checked_name(name if name is not None else _name(function))
    where = f"tool {name!r}"
    _check_callable(function, where)
    if timeout is not None and not 0 < timeout < float("inf"):
        raise RegistrationError(f"{where}: timeout must be a positive number of seconds")
    declared = signature.read(function, context_type, where)
    arguments: Arguments
    if input_schema is None:
        arguments = Typed(declared, where)
    else:
        arguments = HandWritten(Schema(input_schema, f"{where}: input_schema"), declared, where)
    if output_schema is None:
        output = outputs.from_hint(declared.returns, where)
    else:
        output = Output(Schema(output_schema, f"{where}: output_schema"))
    definition = messages.Tool(
        name=name,
        title=title,
        description=description if description is not None else declared.description,
        input_schema=arguments.schema,
        output_schema=output.schema,
        annotations=annotations,
        icons=None if icons is None else tuple(icons),
        meta=meta,
    )
    return Tool(
        definition=_checked(definition, where),
        timeout=timeout,
        header_map=_header_map(arguments.schema, where),
        function=function,
        arguments=arguments,
        output=output,
        contexts=declared.contexts,
        is_async=_is_async(function),
    )


def checked_name(name: str) -> str:
    """The name itself, if it is one that every client takes; else `RegistrationError`."""
    if not NAME.fullmatch(name):
        raise RegistrationError(f"{name[:140]!r} is no tool name: 1 to 128 of the characters A-Z a-z 0-9 _ - .")
    return name


def _name(function: Callable[..., Any]) -> str:
    name = getattr(signature.unwrapped(function), "__name__", None)
    if not isinstance(name, str) or name == "<lambda>":
        raise RegistrationError(f"{function!r} has no name of its own: give it one")
    return name


def _check_callable(function: Callable[..., Any], where: str) -> None:
    if not callable(function):
        raise RegistrationError(f"{where}: {type(function).__name__} is not callable")
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise RegistrationError(f"{where}: a generator cannot be a tool; return a list, or report progress")


def _is_async(function: Callable[..., Any]) -> bool:
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(type(function).__call__)


def _checked(definition: messages.Tool, where: str) -> messages.Tool:
    try:
        jsontext.dumps(definition)
    except jsontext.NotJson as error:
        raise RegistrationError(f"{where}: its definition is not JSON: {error}") from None
    return definition


def _header_map(schema: dict[str, Any], where: str) -> Sequence[Mirrored]:
    try:
        return parameter_map(schema)
    except RegistrationError as error:
        raise RegistrationError(f"{where}: {error}") from None
