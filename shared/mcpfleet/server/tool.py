"""A tool, compiled once: everything that a call needs is decided at registration."""

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Unpack

import msgspec

from mcpfleet.errors import RegistrationError
from mcpfleet.protocol import jsontext
from mcpfleet.protocol.headers import Headers, Mirrored, mismatch, parameter_map
from mcpfleet.protocol.messages import tools as messages
from mcpfleet.server import outputs, signature
from mcpfleet.server.arguments import Arguments, Typed
from mcpfleet.server.handwritten import HandWritten
from mcpfleet.server.options import Options, opened
from mcpfleet.server.outputs import Output
from mcpfleet.server.schema import Schema
from mcpfleet.server.signature import Signature
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


def compile_tool(tool: Any, *, context_type: type, **given: Unpack[Options]) -> Tool:
    """Make a tool of a function, a class or an instance with `__call__`; options say what they do not.

    Parameters annotated `context_type` receive the request's context. Raises `RegistrationError` for anything that
    could not be served.
    """
    function, options = opened(tool, given)
    name = checked_name(options["name"])
    where = f"tool {name!r}"
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise RegistrationError(f"{where}: a generator cannot be a tool; return a list, or report progress")
    declared = signature.read(function, context_type, where)
    arguments = _arguments(options.get("input_schema"), declared, where)
    output = _output(options.get("output_schema"), declared, where)
    icons = options.get("icons")
    definition = messages.Tool(
        name=name,
        title=options.get("title"),
        description=options.get("description", declared.description),
        input_schema=arguments.schema,
        output_schema=output.schema,
        annotations=options.get("annotations"),
        icons=None if icons is None else tuple(icons),
        meta=options.get("meta"),
    )
    return Tool(
        definition=_checked(definition, where),
        timeout=_seconds(options.get("timeout"), where),
        header_map=_header_map(arguments.schema, where),
        function=function,
        arguments=arguments,
        output=output,
        contexts=declared.contexts,
        is_async=_is_async(function),
    )


def checked_name(name: Any) -> str:
    """The name itself, if it is one that every client takes; else `RegistrationError`."""
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise RegistrationError(f"{str(name)[:140]!r} is no tool name: 1 to 128 of the characters A-Z a-z 0-9 _ - .")
    return name


def _arguments(schema: Mapping[str, Any] | None, declared: Signature, where: str) -> Arguments:
    if schema is None:
        return Typed(declared, where)
    return HandWritten(Schema(schema, f"{where}: input_schema"), declared, where)


def _output(schema: Mapping[str, Any] | None, declared: Signature, where: str) -> Output:
    if schema is None:
        return outputs.from_hint(declared.returns, where)
    return Output(Schema(schema, f"{where}: output_schema"))


def _seconds(timeout: float | None, where: str) -> float | None:
    if timeout is not None and not 0 < timeout < float("inf"):
        raise RegistrationError(f"{where}: timeout must be a positive number of seconds")
    return timeout


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
