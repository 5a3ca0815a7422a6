"""What tool authors write to: a named collection of tools, which knows nothing of processes or transports."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar, overload

from mcpfleet.errors import RegistrationError
from mcpfleet.protocol.messages.content import Icon
from mcpfleet.protocol.messages.lifecycle import (
    DiscoverResult,
    Implementation,
    InitializeResult,
    ListChangedCapability,
    ServerCapabilities,
)
from mcpfleet.protocol.messages.tools import ToolAnnotations
from mcpfleet.protocol.revisions import ALL_DATES, Revision
from mcpfleet.server.context import Context
from mcpfleet.server.permission import MayWatch
from mcpfleet.server.registry import Registry
from mcpfleet.server.tool import Tool, compile_tool

Function = TypeVar("Function", bound=Callable[..., Any])
Hook = TypeVar("Hook", bound=MayWatch)


class Server:
    """An MCP server: its name, its instructions for models, and its tools."""

    def __init__(
        self,
        name: str,
        *,
        version: str = "0.0.0",
        title: str | None = None,
        description: str | None = None,
        instructions: str | None = None,
        website_url: str | None = None,
        icons: Sequence[Icon] | None = None,
    ) -> None:
        """`name` and `version` are what clients are told; `instructions` tell a model how to use the server."""
        self.info = Implementation(
            name=name,
            version=version,
            title=title,
            description=description,
            website_url=website_url,
            icons=None if icons is None else tuple(icons),
        )
        self.instructions = instructions
        self.registry = Registry()
        self.watch_hook: MayWatch | None = None
        """What decides on who may watch what; None: everybody may watch everything."""

    @property
    def name(self) -> str:
        """What clients are told the server is called."""
        return self.info.name

    @overload
    def tool(self, function: Function, /) -> Function: ...

    @overload
    def tool(
        self,
        /,
        *,
        name: str | None = None,
        title: str | None = None,
        description: str | None = None,
        annotations: ToolAnnotations | None = None,
        input_schema: Mapping[str, Any] | None = None,
        output_schema: Mapping[str, Any] | None = None,
        icons: Sequence[Icon] | None = None,
        meta: dict[str, Any] | None = None,
        timeout: float | None = None,
    ) -> Callable[[Function], Function]: ...

    def tool(self, function: Callable[..., Any] | None = None, /, **options: Any) -> Any:
        """Register a function as a tool, and return it unchanged; bare, or with options in parentheses.

        Name, description, input and output schema come from the function's name, docstring and type hints where no
        option gives them; a parameter annotated `Context` receives the request. `timeout` is in seconds. Raises
        `RegistrationError` for what could not be served.
        """

        def register(function: Callable[..., Any]) -> Callable[..., Any]:
            self.add_tool(compile_tool(function, context_type=Context, **options))
            return function

        return register if function is None else register(function)

    def add_tool(self, tool: Tool, /) -> None:
        """Register a compiled tool; `RegistrationError` if its name is taken."""
        self.registry.tools.add(tool)

    def include(self, other: "Server", *, prefix: str = "") -> None:
        """Offer everything that the other server offers now, each name after the prefix; all of it, or nothing."""
        self.registry.include(other.registry, prefix)

    def may_watch(self, hook: Hook, /) -> Hook:
        """Let this function decide whether a principal may be told of changes of a topic; as a decorator.

        It is asked when a client begins to watch, and must be quick. `RegistrationError` if there is one already.
        """
        if self.watch_hook is not None:
            raise RegistrationError("another function decides already on who may watch what")
        self.watch_hook = hook
        return hook

    def discovery(self) -> DiscoverResult:
        """What `server/discover` answers (MCP: server/discover)."""
        capabilities = ServerCapabilities(tools=ListChangedCapability(list_changed=True), logging={})
        return DiscoverResult(supported_versions=ALL_DATES, capabilities=capabilities, instructions=self.instructions)

    def initialization(self, revision: Revision) -> InitializeResult:
        """What `initialize` answers in the agreed revision (MCP: basic/lifecycle)."""
        capabilities = ServerCapabilities(tools=ListChangedCapability(list_changed=True), logging={})
        return InitializeResult(
            protocol_version=revision.date,
            capabilities=capabilities,
            server_info=self.info,
            instructions=self.instructions,
        )
