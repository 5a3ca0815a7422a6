"""The seam between a client and a server: what carries messages there and back.

A transport knows nothing of versions or methods. Every request is an exchange of its own, as it is over HTTP; where all
messages share one channel, the transport sorts them by request.
"""

from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from types import TracebackType
from typing import Final, Protocol, Self

from mcpfleet.protocol.jsonrpc import Message, RequestId

MAX_MESSAGE_BYTES: Final = 4 * 1024 * 1024
"""How large a message of the server's may be, unless the user of the transport says otherwise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outgoing:
    """One message to the server; a transport without headers passes over those that it comes with."""

    body: bytes
    id: RequestId | None = None
    """Whose answer is expected, if any is."""
    headers: Mapping[str, str] = field(default_factory=dict)
    resumable: bool = False
    """Whether a response that breaks off may be taken up again where it broke off."""


class Exchange(Protocol):
    """What arrives for one request: iterate over it once; its last message is the answer.

    Ends without one only where the server has ended it in order. Raises `Disconnected` if it breaks off for good,
    `ReplyRefused` for what is no message, or too large, and `HttpRefused` for an answer without a message.
    """

    @property
    def status(self) -> int:
        """The HTTP status; 200 where there is none."""
        ...

    @property
    def headers(self) -> Mapping[str, str]:
        """Those of the response, whatever the case of their names; empty where there are none."""
        ...

    def __aiter__(self) -> AsyncIterator[Message]: ...


class Transport(Protocol):
    """Carries messages to one server and back; usable within its context, once."""

    @property
    def shared(self) -> bool:
        """Whether all messages share one channel.

        If so, leaving an exchange tells the server nothing, and what belongs to no request arrives all the time.
        Otherwise leaving one early closes its response, which the server can see.
        """
        ...

    def exchange(self, request: Outgoing) -> AbstractAsyncContextManager[Exchange]:
        """Send a request, for whose answer the block lasts. `Unreachable` if it cannot be sent at all."""
        ...

    async def send(self, message: Outgoing) -> None:
        """Send what has no answer: a notification, or the answer to a request of the server's. Raises as `exchange`."""
        ...

    def unasked(self, headers: Mapping[str, str]) -> AbstractAsyncContextManager[AsyncIterator[Message]]:
        """What arrives and belongs to no request, for as long as it comes; outages are waited out where that helps."""
        ...

    async def end(self, headers: Mapping[str, str]) -> None:
        """Tell the server that the session of these headers is over, if it wants to know; raises no `ClientError`."""
        ...

    async def __aenter__(self) -> Self: ...

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...
