"""What a user tells the whole fleet, from within a request or from outside."""

from collections.abc import Awaitable, Callable
from typing import Any, Final, Literal, Protocol

from mcpfleet.protocol import jsontext
from mcpfleet.protocol.messages.notifications import LogLevel
from mcpfleet.protocol.messages.subscriptions import MAX_URI, is_watchable
from mcpfleet.server import loglevels
from mcpfleet.server.auth import Principal
from mcpfleet.server.events import Change
from mcpfleet.server.topics import COMPLETED, LOGGED, PROMPTS, RESOURCE, RESOURCES, TOOLS, Topic

Kind = Literal["tool", "prompt", "resource", "template"]
"""What can be disabled."""

Publish = Callable[[Change], Awaitable[None]]


class Switch(Protocol):
    """How one thing is switched on or off."""

    async def __call__(self, kind: Kind, name: str, *, on: bool) -> None: ...


class Fleet:
    """Tells the clients of every process, in either era, what has changed.

    What notifies returns once the change is in the log that all processes read; who cannot be told of it will be told
    that anything may have changed. Raises `Unavailable` while the store is away: then nobody was told.
    """

    def __init__(self, publish: Publish, switch: Switch) -> None:
        self.publish = publish
        """Puts any change into the events log."""
        self.switch = switch
        """Switches one thing on or off; see `enable` and `disable`."""

    async def notify_tools_changed(self) -> None:
        """Tell whoever listens that the list of tools has changed (MCP: server/tools, "List Changed Notification")."""
        await self._changed(TOOLS)

    async def notify_prompts_changed(self) -> None:
        """Tell whoever listens that the list of prompts has changed."""
        await self._changed(PROMPTS)

    async def notify_resources_changed(self) -> None:
        """Tell whoever listens that the list of resources has changed."""
        await self._changed(RESOURCES)

    async def notify_resource_updated(self, uri: str, *, only_for: Principal | None = None) -> None:
        """Tell whoever watches exactly this URI that what is there has changed (MCP: server/resources).

        With `only_for`, nobody but this principal is told. Raises `ValueError` for a URI that nobody can watch.
        """
        if not is_watchable(uri):
            raise ValueError(f"{uri[:128]!r} is no absolute URI of at most {MAX_URI} characters")
        await self._changed(Topic(RESOURCE, uri), only_for)

    async def log(
        self, level: LogLevel, data: Any, *, logger: str | None = None, only_for: Principal | None = None
    ) -> None:
        """Send a log message that belongs to no request (MCP: server/utilities/logging).

        Sessions that asked for messages of this severity get it, on their own streams; in the modern era every log
        message belongs to a request. Raises `ValueError` for an unknown level, and for `data` without a JSON form.
        """
        params = jsontext.dumps(loglevels.message(level, data, logger)).decode()
        await self._changed(Topic(LOGGED, params), only_for)

    async def complete_elicitation(self, elicitation_id: str, session_id: str | None) -> None:
        """Tell a session that what its user was sent to a page for is done, as the page's own handler will know.

        `session_id` is the `Context.session_id` of the request that sent the user there. Nothing happens where it is
        None, or the session's revision has no such notification.
        """
        if session_id is not None:
            await self.publish(Change(COMPLETED, elicitation_id, session=session_id))

    async def disable(self, kind: Kind, name: str) -> None:
        """Let every process serve as if this tool, prompt, resource or template were not there, until it is enabled.

        A resource is named by its URI, a template by its text. It lasts across restarts; the list's change is told.
        `Unavailable`: it may have been done, and not everybody was told, so try again. `ValueError`: there is nothing
        of that name, or the server is not `switchable`.
        """
        await self.switch(kind, name, on=False)

    async def enable(self, kind: Kind, name: str) -> None:
        """Undo `disable`, in the same way; what is enabled already stays so."""
        await self.switch(kind, name, on=True)

    async def _changed(self, topic: Topic, only_for: Principal | None = None) -> None:
        owner = None if only_for is None else only_for.owner
        await self.publish(Change(topic.kind, topic.key, owner))


async def _unheard(change: Change) -> None:
    """Drop it."""


async def _unswitched(kind: Kind, name: str, *, on: bool) -> None:
    """Leave it as it is."""


NOBODY: Final = Fleet(_unheard, _unswitched)
"""A fleet without clients: what is served by no process has nobody to tell."""
