"""How to talk back to the client while its request runs."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Protocol

from mcpfleet.errors import CannotAsk
from mcpfleet.server.tool import Tool


class Outlet(Protocol):
    """The way from one running request to its client; each era has its own."""

    async def notify(self, method: str, params: Mapping[str, Any], *, newest_of: str | None = None) -> None:
        """Send one notification on the request's own stream, before its response.

        Of notifications with the same `newest_of` that wait to be sent, only the newest needs to go out. A
        notification that can no longer be delivered is dropped.
        """
        ...

    async def ask(self, method: str, params: Mapping[str, Any], *, timeout: float | None) -> Mapping[str, Any]:
        """The client's result for a request of ours, which it has `timeout` seconds for (None: as the policy says).

        `CannotAsk`: this request has no way to ask; `ClientRefused`: the client answered with an error;
        `NotAnswered`: there is no answer.
        """
        ...

    async def hang_up(self, retry_ms: int) -> None:
        """End the connection that delivers the request's stream, if its client can take the stream up again.

        The client is told to wait so many milliseconds before it does.
        """
        ...

    async def detach(self, tool: Tool) -> None:
        """Go on as a task of this tool, if the request can: then this run of its handler ends here, and another one
        returns from this at once."""
        ...

    async def step(self, name: str, work: Callable[[], Awaitable[Any]]) -> Any:
        """What the work comes to; where a request is served in several rounds, it is done in one of them only."""
        ...


class Silent:
    """For requests whose response has no room for anything else: notifications are dropped, and questions fail."""

    async def notify(self, method: str, params: Mapping[str, Any], *, newest_of: str | None = None) -> None:
        """Drop it."""

    async def ask(self, method: str, params: Mapping[str, Any], *, timeout: float | None) -> Mapping[str, Any]:
        """Fail: there is no way to ask."""
        raise CannotAsk("This request is answered with one JSON object, so its client cannot be asked anything.")

    async def hang_up(self, retry_ms: int) -> None:
        """Do nothing: there is no stream."""

    async def detach(self, tool: Tool) -> None:
        """Do nothing: the request is served as it is."""

    async def step(self, name: str, work: Callable[[], Awaitable[Any]]) -> Any:
        """Do it: there is one round only."""
        return await work()
