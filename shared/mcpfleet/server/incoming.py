"""One message from a client as hooks see it: what it asks for, and who sent it."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from mcpfleet.protocol.headers import Headers
from mcpfleet.protocol.inbound import (
    Accepted,
    Initialize,
    LegacyPost,
    ModernNotification,
    ModernRequest,
    PairMessage,
    StatelessPost,
)
from mcpfleet.protocol.jsonrpc import Notification, Request, RequestId
from mcpfleet.protocol.meta import META
from mcpfleet.protocol.methods import is_name, is_standard, is_standard_notification
from mcpfleet.protocol.revisions import ASSUMED, LATEST_LEGACY, OLDEST, Era
from mcpfleet.server.auth import Principal
from mcpfleet.server.caller import Caller

_NAMED_BY: Final = {
    "prompts/get": "name",
    "resources/directory/read": "uri",
    "resources/read": "uri",
    "resources/subscribe": "uri",
    "resources/unsubscribe": "uri",
    "skills/get": "uri",
    "tasks/cancel": "taskId",
    "tasks/get": "taskId",
    "tasks/update": "taskId",
    "tools/call": "name",
}
"""Which param says what a request is for."""


@dataclass(frozen=True, slots=True)
class Incoming:
    """A request or notification, with its params as they came: nothing in them has been checked.

    `dataclasses.replace(request, params=...)` makes another one to be served in its place.
    """

    method: str
    params: Mapping[str, Any] = field(repr=False)
    request_id: RequestId | None
    """The JSON-RPC id, which is not unique among requests in flight; None for a notification, which has none."""
    caller: Caller = field(repr=False)
    """All that is known of the sender."""

    @classmethod
    def of(cls, message: Request | Notification, caller: Caller) -> "Incoming":
        """A message that has come from this sender."""
        return cls(message.method, message.params, message.id if isinstance(message, Request) else None, caller)

    @classmethod
    def brought(cls, asked: Accepted, headers: Headers, principal: Principal | None) -> "Incoming | None":
        """The message of an exchange of which no more is known than what it brought; None: it has none, or several."""
        match asked:
            case ModernRequest(request=message):
                revision = asked.revision
            case ModernNotification(notification=message):
                revision = asked.revision
            case Initialize(request=message):
                revision = LATEST_LEGACY
            case StatelessPost(message=Request() | Notification() as message):
                revision = asked.revision
            case LegacyPost(message=Request() | Notification() as message):
                revision = asked.header_revision or ASSUMED
            case PairMessage(message=Request() | Notification() as message):
                revision = OLDEST
            case _:
                return None
        session = asked.session_id if isinstance(asked, LegacyPost | PairMessage) else None
        info = asked.client_info if isinstance(asked, ModernRequest | Initialize) else None
        return cls.of(message, Caller(revision, principal, headers, info, {}, None, session))

    @property
    def is_notification(self) -> bool:
        """Whether nobody waits for an answer."""
        return self.request_id is None

    @property
    def target(self) -> str | None:
        """The name of the tool or prompt, the URI, or what is to be completed; None if it names none."""
        if self.method == "completion/complete":
            ref = _table(self.params.get("ref"))
            named = ref.get("uri", ref.get("name"))
        else:
            named = self.params.get(_NAMED_BY.get(self.method, ""))
        return named if isinstance(named, str) else None

    @property
    def arguments(self) -> Mapping[str, Any]:
        """What a tool, a prompt, or a method or notification of the author's own is given, or the value to complete."""
        if self.method in ("tools/call", "prompts/get"):
            return _table(self.params.get("arguments"))
        if self.method == "completion/complete":
            argument = _table(self.params.get("argument"))
            return {str(argument["name"]): argument.get("value")} if "name" in argument else {}
        if self._is_the_protocols:
            return {}
        return {name: value for name, value in self.params.items() if name != META}

    @property
    def client(self) -> Mapping[str, Any] | None:
        """What the client says of itself (`name`, `version`, …); never verified, and not always known."""
        return self.caller.client_info

    @property
    def principal(self) -> Principal | None:
        """Who sent this message; None without authentication."""
        return self.caller.principal

    @property
    def headers(self) -> Headers:
        """The HTTP headers that came with it; none over stdio."""
        return self.caller.headers

    @property
    def meta(self) -> Mapping[str, Any]:
        """Its `_meta`, as it came."""
        return self.caller.meta

    @property
    def session_id(self) -> str | None:
        """The legacy session's id; None in the modern era, and for `initialize`, which begins one."""
        return self.caller.session_id

    @property
    def protocol_version(self) -> str:
        """The protocol revision that it is served in."""
        return self.caller.revision.date

    @property
    def era(self) -> Era:
        """How the client introduces itself: by a handshake, or on every request."""
        return self.caller.revision.era

    def __str__(self) -> str:
        """Its method and target, as logs name it."""
        method = self.method if is_name(self.method) else repr(self.method[:128])
        return method if self.target is None else f"{method} {self.target[:128]!r}"

    def with_arguments(self, arguments: Mapping[str, Any]) -> "Incoming":
        """The same with other arguments; `ValueError` if it is for nothing that takes any."""
        if self.method in ("tools/call", "prompts/get"):
            return replace(self, params={**self.params, "arguments": dict(arguments)})
        if self._is_the_protocols:
            raise ValueError(f"{self.method} takes no arguments")
        kept = {META: self.params[META]} if META in self.params else {}
        return replace(self, params={**arguments, **kept})

    @property
    def _is_the_protocols(self) -> bool:
        return is_standard_notification(self.method) if self.is_notification else is_standard(self.method)


def _table(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}
