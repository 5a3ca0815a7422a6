"""Who asks, and what they can do: all that is known of a request's sender, in either era."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from mcpfleet.errors import CannotAsk, MissingCapability
from mcpfleet.protocol import tasks
from mcpfleet.protocol.headers import Headers
from mcpfleet.protocol.inbound import Initialize
from mcpfleet.protocol.jsonrpc import RequestId
from mcpfleet.protocol.questions import Question, missing
from mcpfleet.protocol.revisions import Era, Revision
from mcpfleet.server.auth import Principal


@dataclass(frozen=True, slots=True)
class Caller:
    """The sender of one request, as its envelope (modern) or its session (legacy) describes it."""

    revision: Revision
    principal: Principal | None
    headers: Headers
    client_info: Mapping[str, Any] | None
    capabilities: Mapping[str, Any]
    log_level: str | None
    """The least severe level of log message the client asked for; None: it asked for none."""
    session_id: str | None = None
    request_id: RequestId | None = None
    meta: Mapping[str, Any] = field(default_factory=dict)
    """The request's `_meta`, as it came."""
    input_responses: Mapping[str, Any] = field(default_factory=dict)
    """What the client answers in this round, by key, as it came."""
    request_state: str | None = None
    """What the handler wanted to find again in this round."""
    task_id: str | None = None
    """The task that this is the run of; None: its client waits for it."""
    reachable: bool = True
    """False without sessions: nothing is known of the client, and it has no way to answer."""

    @classmethod
    def shaking_hands(
        cls, asked: Initialize, revision: Revision, headers: Headers, principal: Principal | None
    ) -> "Caller":
        """The sender of a handshake that comes to this revision."""
        return cls(
            revision=revision,
            principal=principal,
            headers=headers,
            client_info=asked.client_info,
            capabilities=asked.client_capabilities,
            log_level=None,
            request_id=asked.request.id,
            meta=asked.request.params.get("_meta", {}),
        )

    @property
    def progress_token(self) -> RequestId | None:
        """The token for progress notifications, if the client sent a valid one (`0` and `""` are valid).

        A task tells of its progress whether or not there is one.
        """
        if self.task_id is not None:
            return self.task_id
        token = self.meta.get("progressToken")
        return token if isinstance(token, str) or type(token) is int else None

    @property
    def takes_tasks(self) -> bool:
        """Whether it takes a task in place of a result, which no legacy client does."""
        return self.revision.era is Era.MODERN and tasks.declared(self.capabilities)

    def unaskable(self, question: Question) -> MissingCapability | CannotAsk | None:
        """Why its client cannot be asked this; None if it can."""
        if not self.reachable:
            return CannotAsk("Without sessions, a client cannot be asked anything.")
        lacking = missing(question, self.capabilities, self.revision)
        return MissingCapability(lacking) if lacking else None
