"""What a tool sees of the request that it serves."""

import inspect
import math
import secrets
from collections.abc import Callable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any, Literal, TypeVar, overload

from mcpfleet.errors import Cancelled, ProtocolError
from mcpfleet.protocol import jsontext
from mcpfleet.protocol.headers import Headers
from mcpfleet.protocol.jsonrpc import INVALID_PARAMS, RequestId
from mcpfleet.protocol.messages.elicitation import Action
from mcpfleet.protocol.messages.notifications import LogLevel, LogMessage
from mcpfleet.protocol.messages.roots import Root
from mcpfleet.protocol.messages.sampling import CreateMessageResult, ModelPreferences, ToolChoice
from mcpfleet.protocol.messages.tools import Tool
from mcpfleet.protocol.questions import Kind, NoAnswer, read
from mcpfleet.protocol.revisions import Era
from mcpfleet.server import loglevels
from mcpfleet.server.asking import Asking, Turn
from mcpfleet.server.auth import Principal
from mcpfleet.server.caller import Caller
from mcpfleet.server.elicitation import Elicited
from mcpfleet.server.fleet import NOBODY, Fleet
from mcpfleet.server.outlet import Outlet
from mcpfleet.server.shapes import to_json
from mcpfleet.server.tool import Tool as TaskTool

T = TypeVar("T")


class Context:
    """The current request, and the way back to its client; the same in both eras.

    A tool gets one by a parameter annotated `Context`. It is good until the tool returns: later notifications are
    dropped.
    """

    __slots__ = (
        "_asking",
        "_caller",
        "_cancel_reason",
        "_cancelled",
        "_closed",
        "_outlet",
        "_progress",
        "_state",
        "_tool",
        "fleet",
        "lifespan",
    )

    def __init__(self, caller: Caller, outlet: Outlet, fleet: Fleet = NOBODY, lifespan: Any = None) -> None:
        self.fleet = fleet
        """What to tell the clients of all processes."""
        self.lifespan = lifespan
        """What the server's lifespan yields: the same for all requests of a process; None without one."""
        self._state: SimpleNamespace | None = None
        self._caller = caller
        self._outlet = outlet
        self._asking = Asking(caller, outlet)
        self._tool: TaskTool | None = None
        self._progress = -math.inf
        self._cancelled = False
        self._cancel_reason: str | None = None
        self._closed = False

    @property
    def request_id(self) -> RequestId | None:
        """The JSON-RPC id of the request; not unique among requests in flight."""
        return self._caller.request_id

    @property
    def session_id(self) -> str | None:
        """The legacy session's id; None in the modern era."""
        return self._caller.session_id

    @property
    def task_id(self) -> str | None:
        """The task that this is the run of (extension `io.modelcontextprotocol/tasks`); None: its client waits."""
        return self._caller.task_id

    @property
    def principal(self) -> Principal | None:
        """Who sent this request (never whoever opened the session); None without authentication."""
        return self._caller.principal

    @property
    def state(self) -> SimpleNamespace:
        """Whatever this request is to carry along, as attributes: its principal's state at first."""
        if self._state is None:
            principal = self._caller.principal
            self._state = SimpleNamespace() if principal is None else SimpleNamespace(**principal.state)
        return self._state

    @property
    def headers(self) -> Headers:
        """The HTTP headers of this request."""
        return self._caller.headers

    @property
    def meta(self) -> Mapping[str, Any]:
        """The `_meta` of this request, as it came."""
        return self._caller.meta

    @property
    def client_info(self) -> Mapping[str, Any] | None:
        """What the client says of itself (`name`, `version`, …); never verified."""
        return self._caller.client_info

    @property
    def client_capabilities(self) -> Mapping[str, Any]:
        """What the client declared it can do."""
        return self._caller.capabilities

    @property
    def takes_tasks(self) -> bool:
        """Whether the client takes a task in place of a result."""
        return self._caller.takes_tasks

    @property
    def protocol_version(self) -> str:
        """The protocol revision that this request is served in."""
        return self._caller.revision.date

    @property
    def era(self) -> Era:
        """How the client introduces itself: by a handshake, or on every request."""
        return self._caller.revision.era

    @property
    def input_responses(self) -> Mapping[str, Any]:
        """What the client answers to an `InputRequiredResult`, by its keys, as it came and unchecked."""
        return self._caller.input_responses

    @property
    def request_state(self) -> str | None:
        """The `request_state` of the `InputRequiredResult` that this request is the retry of; it was kept sealed."""
        return self._caller.request_state

    def input_response(self, key: str, kind: type[Kind]) -> Kind | None:
        """The answer under this key, if there is one; `ProtocolError` if it is none of that kind."""
        answer = self._caller.input_responses.get(key)
        try:
            return None if answer is None else read(kind, answer)
        except NoAnswer as error:
            raise ProtocolError(INVALID_PARAMS, f"params.inputResponses.{key[:128]}: {error}") from None

    @property
    def cancelled(self) -> bool:
        """Whether nobody waits for the result any more; a synchronous tool should look now and then.

        The client has cancelled the request, or its time is up.
        """
        return self._cancelled

    @property
    def cancel_reason(self) -> str | None:
        """What the client says of why it has cancelled the request, for people to read.

        An asynchronous function that is cancelled finds it as the argument of its `CancelledError`.
        """
        return self._cancel_reason

    def raise_if_cancelled(self) -> None:
        """Raise `Cancelled`, with the client's reason, if nobody waits for the result any more."""
        if self._cancelled:
            raise Cancelled(self._cancel_reason)

    async def report_progress(self, progress: float, total: float | None = None, message: str | None = None) -> None:
        """Tell the client how far the work is; nothing is sent unless it gave a progress token.

        Progress must increase: a value that does not exceed the last one is dropped (MCP: basic/patterns/progress).
        Raises `ValueError` for a value that is not finite.
        """
        if not math.isfinite(progress) or (total is not None and not math.isfinite(total)):
            raise ValueError("progress and total must be finite numbers")
        token = self._caller.progress_token
        if token is None or self._closed or progress <= self._progress:
            return
        self._progress = progress
        params: dict[str, Any] = {"progressToken": token, "progress": progress}
        if total is not None:
            params["total"] = total
        if message is not None and self._caller.revision.progress_message:
            params["message"] = message
        await self._outlet.notify("notifications/progress", params, newest_of="progress")

    async def log(self, level: LogLevel, data: Any, *, logger: str | None = None) -> None:
        """Send a log message, if the client asked for messages of this severity (MCP: server/utilities/logging).

        Raises `ValueError` for an unknown level, and for `data` that is to be sent and has no JSON form.
        """
        params = loglevels.message(level, data, logger)
        if loglevels.wants(self._caller.log_level, level) and not self._closed:
            await self._outlet.notify(LogMessage.METHOD, params)

    @overload
    async def elicit(
        self, message: str, form: Mapping[str, Any], *, timeout: float | None = None
    ) -> Elicited[dict[str, Any]]: ...

    @overload
    async def elicit(self, message: str, form: type[T], *, timeout: float | None = None) -> Elicited[T]: ...

    async def elicit(self, message: str, form: Any, *, timeout: float | None = None) -> Elicited[Any]:
        """Have the user fill in a form, and wait for it (MCP: client/elicitation).

        `form` is a type with flat fields, such as a dataclass, or a schema as `mcpfleet.forms` writes it; what was
        filled in fits it. Never ask for secrets so: see `elicit_url`.

        Like every question it raises `MissingCapability` if the client has not declared that it can be asked, and
        `QuestionFailed` if there is no answer, `timeout` seconds long at most.
        """
        return await self._asking.elicit(message, form, timeout)

    async def elicit_url(
        self, message: str, url: str, *, elicitation_id: str | None = None, timeout: float | None = None
    ) -> Action:
        """Have the user visit a page, for what must not pass through the client (MCP: client/elicitation, "URL Mode").

        `accept` means that the user agreed to go there, not that anything has happened there yet. A `url` that is not
        absolute raises `ValueError`.
        """
        return await self._asking.visit(message, url, elicitation_id or secrets.token_hex(16), timeout)

    async def complete_elicitation(self, elicitation_id: str) -> None:
        """Tell the client that what the user was sent to a page for is done; nothing where its revision has no such.

        Once the request has ended, that is `Fleet.complete_elicitation`.
        """
        if self._caller.revision.elicitation_complete and not self._closed:
            await self._outlet.notify("notifications/elicitation/complete", {"elicitationId": elicitation_id})

    async def sample(
        self,
        messages: Turn | Sequence[Turn],
        *,
        max_tokens: int,
        system_prompt: str | None = None,
        model_preferences: ModelPreferences | None = None,
        include_context: Literal["none", "thisServer", "allServers"] | None = None,
        temperature: float | None = None,
        stop_sequences: Sequence[str] | None = None,
        metadata: dict[str, Any] | None = None,
        tools: Sequence[Tool] | None = None,
        tool_choice: ToolChoice | None = None,
        timeout: float | None = None,
    ) -> CreateMessageResult:
        """Have the client's model go on with a conversation (MCP: client/sampling); a string is the user's turn.

        Raises `ValueError` if tool uses and results do not stand where they must.
        """
        return await self._asking.sample(
            messages,
            timeout,
            max_tokens=max_tokens,
            system_prompt=system_prompt,
            model_preferences=model_preferences,
            include_context=include_context,
            temperature=temperature,
            stop_sequences=stop_sequences,
            metadata=metadata,
            tools=tools,
            tool_choice=tool_choice,
        )

    async def list_roots(self, *, timeout: float | None = None) -> tuple[Root, ...]:
        """The directories that the client works on (MCP: client/roots); never trust them without a look."""
        return await self._asking.roots(timeout)

    async def step(self, name: str, function: Callable[[], Any]) -> Any:
        """Call the function, or return what it came to in an earlier round of this request.

        A modern client is asked by ending the request, and its retry runs the handler again from its beginning: what
        must not be done twice, and what must come out the same, belongs into a step. The name is unique in the handler.
        The value is given back as plain JSON values; `NotJson` if it has none.
        """

        async def work() -> Any:
            value = function()
            if inspect.isawaitable(value):
                value = await value
            return jsontext.loads(jsontext.dumps(to_json(value)))

        return await self._outlet.step(name, work)

    async def detach(self) -> None:
        """Go on as a task, if the tool and the client can (extension `io.modelcontextprotocol/tasks`).

        The client is given a handle in place of the result, and the handler begins again elsewhere, where this returns
        at once; what it asked, and what it did in steps, is not done again. Where the request cannot become a task,
        this returns at once too. For tools with `detach=False`: others become tasks before they begin.
        """
        if self._tool is not None and not self._closed:
            await self._outlet.detach(self._tool)

    async def ping(self, *, timeout: float | None = None) -> None:
        """Return when the client has answered a ping (MCP: basic/utilities/ping), which only sessions have."""
        await self._asking.ping(timeout)

    async def notify_tools_changed(self) -> None:
        """Tell whoever listens, on any process, that the list of tools has changed; see `Fleet`."""
        await self.fleet.notify_tools_changed()

    async def notify_prompts_changed(self) -> None:
        """Tell whoever listens, on any process, that the list of prompts has changed; see `Fleet`."""
        await self.fleet.notify_prompts_changed()

    async def notify_resources_changed(self) -> None:
        """Tell whoever listens, on any process, that the list of resources has changed; see `Fleet`."""
        await self.fleet.notify_resources_changed()

    async def notify_resource_updated(self, uri: str, *, only_for: Principal | None = None) -> None:
        """Tell whoever watches this URI, on any process, that what is there has changed; see `Fleet`."""
        await self.fleet.notify_resource_updated(uri, only_for=only_for)

    async def hang_up(self, retry: float = 1.0) -> None:
        """Close the client's connection while the request goes on, as is kind to proxies during a long wait.

        The client comes back for the rest after `retry` seconds (transports, "Sending Messages to the Server"). Nothing
        happens where it could not: in other revisions, and where no stream was begun or could be.
        """
        if not 0 <= retry < math.inf:
            raise ValueError("retry must be a number of seconds, from 0")
        if not self._closed:
            await self._outlet.hang_up(math.ceil(retry * 1000))

    def may_detach(self, tool: TaskTool) -> None:
        """Note which tool is called, whose calls may become tasks; the engine calls it."""
        self._tool = tool

    def cancel(self, reason: str | None = None) -> None:
        """Note that nobody waits for the result any more, and why; the engine calls it."""
        self._cancel_reason = reason
        self._cancelled = True

    def close(self) -> None:
        """Note that the request has ended: from here on nothing is sent; the engine calls it."""
        self._closed = True
