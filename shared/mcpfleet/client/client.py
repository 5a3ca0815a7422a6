"""The client that users see."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from importlib.metadata import version
from types import TracebackType
from typing import Any, Final, Self, TypeVar

import httpx2
import msgspec

from mcpfleet.client import desk, tracing
from mcpfleet.client.ask import Ask
from mcpfleet.client.canceltoken import CancelToken
from mcpfleet.client.connection import Connection, Mode
from mcpfleet.client.desk import Desk
from mcpfleet.client.erasknown import ErasKnown
from mcpfleet.client.hearing import Hearing, OnProgress
from mcpfleet.client.identity import Identity
from mcpfleet.client.pages import every
from mcpfleet.client.patience import Patience
from mcpfleet.client.target import Target, at_url, by_command, over
from mcpfleet.client.toolbox import Toolbox
from mcpfleet.client.transport import Transport
from mcpfleet.errors import RemoteError, ReplyRefused
from mcpfleet.protocol.jsonrpc import HEADER_MISMATCH
from mcpfleet.protocol.messages.completion import CompleteResult, Completion
from mcpfleet.protocol.messages.lifecycle import Implementation, ServerCapabilities
from mcpfleet.protocol.messages.notifications import LogLevel
from mcpfleet.protocol.messages.prompts import GetPromptResult, ListPromptsResult, Prompt
from mcpfleet.protocol.messages.resources import (
    ListResourcesResult,
    ListResourceTemplatesResult,
    ReadResourceResult,
    Resource,
    ResourceTemplate,
)
from mcpfleet.protocol.messages.tools import CallToolResult, ListToolsResult, Tool

TIMEOUT: Final = 60.0
MOST: Final = 3600.0

Result = TypeVar("Result")
Handler = TypeVar("Handler", bound=Callable[..., Any])


class Client:
    """One server, in whichever era it speaks.

        async with Client("https://example.com/mcp") as client:
            result = await client.call_tool("forecast", {"city": "Kyiv"})

    Every request raises `RemoteError` for an error that the server answers, `Disconnected` if the connection ended
    before the answer, `RequestTimedOut`, and other `ClientError`s as their docstrings say.
    """

    def __init__(
        self,
        target: str | Sequence[str] | Transport | Target,
        *,
        mode: str = "auto",
        headers: Mapping[str, str] | None = None,
        auth: httpx2.Auth | None = None,
        info: Implementation | None = None,
        capabilities: Mapping[str, Any] | None = None,
        timeout: float | None = TIMEOUT,
        most: float | None = MOST,
        eras: ErasKnown | None = None,
    ) -> None:
        """`target` is a URL, a command as a list, or a transport; `mode` is `auto`, `modern`, `legacy` or a version.

        `headers` and `auth` are for a URL; `capabilities` are declared beside those that follow from the handlers. A
        request is waited for `timeout` seconds from its last progress, and `most` seconds in all; None: for ever.
        """
        self._desk = Desk(capabilities)
        self._info = info or Implementation(name="mcpfleet", version=version("mcpfleet"))
        self._timeout = timeout
        self._most = most
        self._tools = Toolbox()
        found = _target(target, headers, auth)
        self._connection = Connection(found, Mode(mode), self._identity, self._desk, eras or ErasKnown())

    @property
    def protocol_version(self) -> str:
        """The revision that is spoken with the server."""
        return self._connection.peer.revision.date

    @property
    def server_capabilities(self) -> ServerCapabilities:
        """What the server offers."""
        return self._connection.peer.introduction.capabilities

    @property
    def server_info(self) -> Implementation | None:
        """Who the server says that it is, if it does."""
        return self._connection.peer.introduction.info

    @property
    def instructions(self) -> str | None:
        """What the server says of how to use it."""
        return self._connection.peer.introduction.instructions

    def on_elicitation(self, handler: desk.Elicit) -> desk.Elicit:
        """Have the user asked by this, a coroutine function; fields left out of an accepted form get their defaults."""
        self._desk.on_elicitation(handler)
        return handler

    def on_sampling(self, handler: desk.Sample) -> desk.Sample:
        """Have the model asked by this, a coroutine function."""
        self._desk.on_sampling(handler)
        return handler

    def on_roots(self, handler: desk.Roots) -> desk.Roots:
        """Have the roots told by this, a coroutine function."""
        self._desk.on_roots(handler)
        return handler

    def on_log(self, handler: desk.Logged) -> desk.Logged:
        """Have log messages of the server's heard."""
        self._desk.on_log(handler)
        return handler

    def on_request(self, method: str) -> Callable[[Handler], Handler]:
        """Have requests of a method served by a coroutine function of their parameters.

        What it returns is the result; `ProtocolError` is the answer in its words, and anything else an internal error.
        """

        def register(handler: Handler) -> Handler:
            self._desk.on_request(method, handler)
            return handler

        return register

    def on_notification(self, method: str) -> Callable[[Handler], Handler]:
        """Have notifications of a method heard."""

        def register(handler: Handler) -> Handler:
            self._desk.on_notification(method, handler)
            return handler

        return register

    async def request(
        self,
        method: str,
        params: Mapping[str, Any] | None = None,
        *,
        timeout: float | None = None,
        on_progress: OnProgress | None = None,
        meta: Mapping[str, Any] | None = None,
        cancel: CancelToken | None = None,
    ) -> Mapping[str, Any]:
        """The result of any request, once the server has all it wants to know; see the class for what it raises."""
        ask = Ask(method=method, params=params or {}, meta=meta or {})
        return await self._ask(ask, timeout, on_progress, cancel)

    async def notify(self, method: str, params: Mapping[str, Any] | None = None) -> None:
        """Send a notification."""
        await self._connection.peer.tell(method, params or {})

    async def ping(self, *, timeout: float | None = None) -> None:
        """Return once the server has answered."""
        await self._ask(self._connection.peer.ping(), timeout)

    async def set_log_level(self, level: LogLevel) -> None:
        """Have the server send log messages of this severity and above ("Logging")."""
        ask = self._connection.peer.set_log_level(level)
        if ask is not None:
            await self._ask(ask, None)

    async def tools_page(self, cursor: str | None = None) -> ListToolsResult:
        """One page of the tools that can be used."""
        page = await self._read("tools/list", _at(cursor), ListToolsResult)
        tools = self._tools.read(page.tools, with_headers=self._connection.peer.mirrors)
        return msgspec.structs.replace(page, tools=tools)

    async def list_tools(self) -> list[Tool]:
        """All tools that can be used; one whose annotations no header can follow is left out with a warning."""

        async def page(cursor: str | None) -> tuple[Sequence[Tool], str | None]:
            found = await self.tools_page(cursor)
            return found.tools, found.next_cursor

        return await every(page)

    async def prompts_page(self, cursor: str | None = None) -> ListPromptsResult:
        """One page of prompts."""
        return await self._read("prompts/list", _at(cursor), ListPromptsResult)

    async def list_prompts(self) -> list[Prompt]:
        """All prompts."""

        async def page(cursor: str | None) -> tuple[Sequence[Prompt], str | None]:
            found = await self.prompts_page(cursor)
            return found.prompts, found.next_cursor

        return await every(page)

    async def resources_page(self, cursor: str | None = None) -> ListResourcesResult:
        """One page of resources."""
        return await self._read("resources/list", _at(cursor), ListResourcesResult)

    async def list_resources(self) -> list[Resource]:
        """All resources."""

        async def page(cursor: str | None) -> tuple[Sequence[Resource], str | None]:
            found = await self.resources_page(cursor)
            return found.resources, found.next_cursor

        return await every(page)

    async def resource_templates_page(self, cursor: str | None = None) -> ListResourceTemplatesResult:
        """One page of resource templates."""
        return await self._read("resources/templates/list", _at(cursor), ListResourceTemplatesResult)

    async def list_resource_templates(self) -> list[ResourceTemplate]:
        """All resource templates."""

        async def page(cursor: str | None) -> tuple[Sequence[ResourceTemplate], str | None]:
            found = await self.resource_templates_page(cursor)
            return found.resource_templates, found.next_cursor

        return await every(page)

    async def call_tool(
        self,
        name: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        timeout: float | None = None,
        on_progress: OnProgress | None = None,
        meta: Mapping[str, Any] | None = None,
        cancel: CancelToken | None = None,
    ) -> CallToolResult:
        """Call a tool; one that failed says so in `is_error`. `ReplyRefused` for a result that breaks its schema."""
        given = arguments or {}

        async def call() -> Mapping[str, Any]:
            headers = self._tools.headers(name, given)
            params = {"name": name, "arguments": given}
            ask = Ask(method="tools/call", params=params, meta=meta or {}, headers=headers)
            return await self._ask(ask, timeout, on_progress, cancel)

        try:
            result = await call()
        except RemoteError as error:
            if error.code != HEADER_MISMATCH:
                raise
            await self.list_tools()  # its annotations have changed, or were never read ("Client Behavior")
            result = await call()
        read = _as(CallToolResult, result, "tools/call")
        self._tools.check(name, read)
        return read

    async def get_prompt(
        self, name: str, arguments: Mapping[str, str] | None = None, *, timeout: float | None = None
    ) -> GetPromptResult:
        """Fill in a prompt."""
        params = {"name": name, "arguments": arguments or {}}
        return await self._read("prompts/get", params, GetPromptResult, timeout)

    async def read_resource(self, uri: str, *, timeout: float | None = None) -> ReadResourceResult:
        """Read what is at a URI."""
        return await self._read("resources/read", {"uri": uri}, ReadResourceResult, timeout)

    async def complete(
        self,
        ref: Mapping[str, str],
        argument: str,
        value: str,
        *,
        given: Mapping[str, str] | None = None,
        timeout: float | None = None,
    ) -> Completion:
        """Suggestions for an argument of a prompt or template, of which `value` is typed and others are `given`.

        `ref` is `{"type": "ref/prompt", "name": …}` or `{"type": "ref/resource", "uri": …}` ("Completion").
        """
        params: dict[str, Any] = {"ref": ref, "argument": {"name": argument, "value": value}}
        if given is not None:
            params["context"] = {"arguments": given}
        return (await self._read("completion/complete", params, CompleteResult, timeout)).completion

    async def _read(
        self, method: str, params: Mapping[str, Any], kind: type[Result], timeout: float | None = None
    ) -> Result:
        return _as(kind, await self._ask(Ask(method=method, params=params), timeout), method)

    async def _ask(
        self,
        ask: Ask,
        timeout: float | None,
        on_progress: OnProgress | None = None,
        cancel: CancelToken | None = None,
    ) -> Mapping[str, Any]:
        patience = Patience(self._timeout if timeout is None else timeout, self._most)
        hearing = Hearing(self._desk, patience, on_progress)
        meta = {**tracing.current(), **ask.meta}
        asked = replace(ask, meta=meta, progress=on_progress is not None, hear=hearing.hear)
        with cancel.heeded() if cancel is not None else nullcontext():
            async with patience.bounding():
                result, _ = await self._connection.ask(asked)
        return result

    def _identity(self) -> Identity:
        return Identity(self._info, self._desk.capabilities)

    async def __aenter__(self) -> Self:
        await self._connection.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._connection.__aexit__(kind, error, trace)


def _target(
    given: str | Sequence[str] | Transport | Target, headers: Mapping[str, str] | None, auth: httpx2.Auth | None
) -> Target:
    if isinstance(given, str):
        return at_url(given, headers=headers, auth=auth)
    if headers is not None or auth is not None:
        raise ValueError("headers and auth are for a server at a URL")
    match given:
        case Target():
            return given
        case Sequence():
            return by_command(given)
    return over(given)


def _at(cursor: str | None) -> dict[str, Any]:
    return {} if cursor is None else {"cursor": cursor}


def _as(kind: type[Result], result: Mapping[str, Any], method: str) -> Result:
    """A result as its type has it; what the type does not know is left out. `ReplyRefused` for what does not fit."""
    try:
        return msgspec.convert(result, kind)
    except msgspec.ValidationError as error:
        raise ReplyRefused(f"the server's answer to {method}: {error}") from None
