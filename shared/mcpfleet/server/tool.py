"""A tool, compiled once: everything that a call needs is decided at registration."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Unpack

import msgspec

from mcpfleet.errors import RegistrationError
from mcpfleet.protocol.headers import Headers, Mirrored, mismatch, parameter_map
from mcpfleet.protocol.messages import tools as messages
from mcpfleet.server import outputs, signature
from mcpfleet.server.arguments import Arguments, Typed
from mcpfleet.server.callee import Callee
from mcpfleet.server.definitions import checked_definition
from mcpfleet.server.handwritten import HandWritten
from mcpfleet.server.options import (
    ToolOptions,
    checked_limit,
    checked_name,
    checked_seconds,
    opened,
)
from mcpfleet.server.outputs import Output
from mcpfleet.server.schema import Schema
from mcpfleet.server.signature import Signature
from mcpfleet.server.taskoptions import TaskOptions, task_options
from mcpfleet.server.threads import Threads


@dataclass(frozen=True, slots=True)
class Tool:
    """A function that clients may call, and what they are told of it."""

    definition: messages.Tool
    timeout: float | None
    """Seconds that one call may take; None: no limit of its own."""
    limit: int | None
    """How many calls one process runs at once; None: any number."""
    task: TaskOptions
    header_map: Sequence[Mirrored]
    """The parameters that clients mirror into HTTP headers."""
    callee: Callee
    arguments: Arguments
    output: Output

    @property
    def repeatable(self) -> bool:
        """Whether it may run again after a run that broke off: it says that it changes nothing, or nothing more."""
        hints = self.definition.annotations
        return hints is not None and (hints.idempotent_hint is True or hints.read_only_hint is True)

    @property
    def name(self) -> str:
        """Its name, unique in a server."""
        return self.definition.name

    def renamed(self, name: str) -> "Tool":
        """The same tool under another name."""
        return replace(self, definition=msgspec.structs.replace(self.definition, name=checked_name(name, "tool")))

    def header_complaint(self, arguments: Mapping[str, Any], headers: Headers) -> str | None:
        """How headers and arguments disagree, in words for the peer; None if they agree."""
        return mismatch(self.header_map, arguments, headers)

    async def call(self, context: object, arguments: Mapping[str, Any], threads: Threads) -> messages.CallToolResult:
        """Call the function.

        Raises `ArgumentsRefused` before it is called, what `Callee.call` raises, and `OutputRefused` or `ToolError` for
        what it returns.
        """
        value = await self.callee.call(self.arguments.read(arguments), context, threads)
        return self.output.result(value)


def compile_tool(tool: Any, *, context_type: type, **given: Unpack[ToolOptions]) -> Tool:
    """Make a tool of a function, a class or an instance with `__call__`; options say what they do not.

    Parameters annotated `context_type` receive the request's context. Raises `RegistrationError` for anything that
    could not be served.
    """
    function, options = opened(tool, given, ToolOptions)
    name = checked_name(options["name"], "tool")
    where = f"tool {name!r}"
    declared = signature.read(function, context_type, where)
    callee = Callee.of(function, declared, where)
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
        definition=checked_definition(definition, where),
        timeout=checked_seconds(options.get("timeout"), where),
        limit=checked_limit(options.get("limit"), where),
        task=task_options(options, where),
        header_map=_header_map(arguments.schema, where),
        callee=callee,
        arguments=arguments,
        output=output,
    )


def _arguments(schema: Mapping[str, Any] | None, declared: Signature, where: str) -> Arguments:
    if schema is None:
        return Typed(declared, where)
    return HandWritten(Schema(schema, f"{where}: input_schema"), declared, where)


def _output(schema: Mapping[str, Any] | None, declared: Signature, where: str) -> Output:
    if schema is None:
        return outputs.from_hint(declared.returns, where)
    return Output(Schema(schema, f"{where}: output_schema"))


def _header_map(schema: dict[str, Any], where: str) -> Sequence[Mirrored]:
    try:
        return parameter_map(schema)
    except RegistrationError as error:
        raise RegistrationError(f"{where}: {error}") from None
