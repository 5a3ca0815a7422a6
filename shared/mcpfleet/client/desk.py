"""What a server asks its client, and tells it, in either era: answered and heard by the handlers that were given."""

import inspect
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final

import msgspec

from mcpfleet.errors import ProtocolError
from mcpfleet.protocol import jsontext
from mcpfleet.protocol.jsonrpc import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    Notification,
    Request,
    encode_failure,
    encode_reply,
)
from mcpfleet.protocol.messages.elicitation import ElicitForm, ElicitResult, ElicitUrl
from mcpfleet.protocol.messages.notifications import LogMessage
from mcpfleet.protocol.messages.roots import ListRoots, ListRootsResult, Root
from mcpfleet.protocol.messages.sampling import CreateMessage, CreateMessageResult

Elicit = Callable[[ElicitForm | ElicitUrl], Awaitable[ElicitResult]]
Sample = Callable[[CreateMessage], Awaitable[CreateMessageResult]]
Roots = Callable[[], Awaitable[Sequence[Root]]]
Serve = Callable[[Mapping[str, Any]], Awaitable[Any]]
Listen = Callable[[Notification], Awaitable[None] | None]
Logged = Callable[[LogMessage], Awaitable[None] | None]

REJECTED: Final = -1
"""The code of a refusal by the user ("Sampling", "Error Handling")."""
PING: Final = "ping"

log = logging.getLogger("mcpfleet.client")


class Desk:
    """Answers questions and hears notifications; what it can answer is what the client declares that it can."""

    def __init__(self, capabilities: Mapping[str, Any] | None = None) -> None:
        """`capabilities` are declared beside those that follow from the handlers."""
        self._declared = dict(capabilities or {})
        self._handlers: dict[str, Serve] = {PING: _pong}
        self._listeners: dict[str, list[Listen]] = {}

    @property
    def capabilities(self) -> dict[str, Any]:
        """What a client with these handlers can be asked."""
        found: dict[str, Any] = {}
        if ElicitForm.METHOD in self._handlers:
            found["elicitation"] = {"form": {}, "url": {}}
        if CreateMessage.METHOD in self._handlers:
            found["sampling"] = {}
        if ListRoots.METHOD in self._handlers:
            found["roots"] = {"listChanged": True}
        return {**found, **self._declared}

    def on_request(self, method: str, serve: Serve) -> None:
        """Have requests of a method served; what it returns is the result, and a `ProtocolError` the answer."""
        self._handlers[method] = serve

    def on_notification(self, method: str, listen: Listen) -> None:
        """Have every notification of a method heard, after those that were there before."""
        self._listeners.setdefault(method, []).append(listen)

    def on_elicitation(self, elicit: Elicit) -> None:
        """Have the user asked ("Elicitation"); fields that an accepted form leaves out get their defaults."""

        async def serve(params: Mapping[str, Any]) -> ElicitResult:
            question = _elicitation(params)
            answer = await elicit(question)
            if answer.action == "accept" and isinstance(question, ElicitForm):
                content = {**defaults(question.requested_schema), **(answer.content or {})}
                return msgspec.structs.replace(answer, content=content)
            return answer

        self.on_request(ElicitForm.METHOD, serve)

    def on_sampling(self, sample: Sample) -> None:
        """Have the model asked ("Sampling")."""

        async def serve(params: Mapping[str, Any]) -> CreateMessageResult:
            return await sample(_read(params, CreateMessage))

        self.on_request(CreateMessage.METHOD, serve)

    def on_roots(self, roots: Roots) -> None:
        """Have the roots told ("Roots")."""

        async def serve(params: Mapping[str, Any]) -> ListRootsResult:
            return ListRootsResult(roots=await roots())

        self.on_request(ListRoots.METHOD, serve)

    def on_log(self, logged: Logged) -> None:
        """Have log messages heard ("Logging"); one that is none is passed over."""

        def listen(notification: Notification) -> Awaitable[None] | None:
            try:
                return logged(msgspec.convert(notification.params, LogMessage))
            except msgspec.ValidationError as error:
                log.warning("a log message of the server's is passed over: %s", error)
                return None

        self.on_notification(LogMessage.METHOD, listen)

    def answers(self, method: str) -> bool:
        """Whether requests of a method are answered with anything but an error."""
        return method in self._handlers

    async def result(self, method: str, params: Mapping[str, Any]) -> Any:
        """The result of a request, in JSON's own types. `ProtocolError` for what is refused, or cannot be served."""
        serve = self._handlers.get(method)
        if serve is None:
            raise ProtocolError(METHOD_NOT_FOUND, f"Method not found: {method[:128]}")
        return jsontext.plain(await serve(params))

    async def reply(self, request: Request) -> bytes:
        """The answer to a request, as it goes to the server: of what a handler raises only `ProtocolError` speaks."""
        try:
            return encode_reply(request.id, await self.result(request.method, request.params))
        except ProtocolError as error:
            return encode_failure(request.id, error.code, error.message, error.data)
        except Exception:  # the boundary: the server must not read what went wrong here
            log.exception("a request of the server's could not be served: %s", request.method)
            return encode_failure(request.id, INTERNAL_ERROR, "Internal error")

    async def hear(self, notification: Notification) -> None:
        """Let a notification be heard; what a handler raises is logged."""
        for listen in [*self._listeners.get(notification.method, ())]:
            try:
                heard = listen(notification)
                if inspect.isawaitable(heard):
                    await heard
            except Exception:  # the boundary: whoever tells must not be stopped by who hears
                log.exception("a notification of the server's could not be heard: %s", notification.method)


def defaults(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The values that a form proposes, by field ("Requested Schema")."""
    properties = schema.get("properties")
    fields = properties.items() if isinstance(properties, dict) else ()
    return {name: field["default"] for name, field in fields if isinstance(field, dict) and "default" in field}


def _elicitation(params: Mapping[str, Any]) -> ElicitForm | ElicitUrl:
    """A question to the user; one that names no mode is a form, as all were once."""
    named = {"mode": "form", **params}
    try:
        return msgspec.convert(named, ElicitForm | ElicitUrl)
    except msgspec.ValidationError as error:
        raise ProtocolError(INVALID_PARAMS, f"Invalid params: {error}") from None


def _read(params: Mapping[str, Any], kind: type[CreateMessage]) -> CreateMessage:
    try:
        return msgspec.convert(params, kind)
    except msgspec.ValidationError as error:
        raise ProtocolError(INVALID_PARAMS, f"Invalid params: {error}") from None


async def _pong(params: Mapping[str, Any]) -> dict[str, Any]:
    return {}
