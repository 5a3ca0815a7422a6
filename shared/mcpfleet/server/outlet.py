"""How to talk back to the client while its request runs."""

from collections.abc import Mapping
from typing import Any, Protocol


class Outlet(Protocol):
    """The way from one running request to its client; each era has its own."""

    async def notify(self, method: str, params: Mapping[str, Any], *, newest_of: str | None = None) -> None:
        """Send one notification on the request's own stream, before its response.

        Of notifications with the same `newest_of` that wait to be sent, only the newest needs to go out. A
        notification that can no longer be delivered is dropped.
        """
        ...


class Silent:
    """An outlet for requests whose response has no room for anything else; notifications are dropped."""

    async def notify(self, method: str, params: Mapping[str, Any], *, newest_of: str | None = None) -> None:
        """Drop it."""
