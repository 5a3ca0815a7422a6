"""What every group of methods works with."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from mcpfleet.errors import ProtocolError
from mcpfleet.protocol.jsonrpc import INVALID_PARAMS
from mcpfleet.server import pages
from mcpfleet.server.context import Context
from mcpfleet.server.fleet import Kind
from mcpfleet.server.operation import Operation
from mcpfleet.server.outcome import Success
from mcpfleet.server.registry import Registry
from mcpfleet.server.server import Server
from mcpfleet.server.switches import Switches
from mcpfleet.server.threads import Threads
from mcpfleet.server.versions import Elsewhere, nowhere

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class Desk:
    """The server, the threads of its synchronous functions, and the one way to call any of its functions."""

    server: Server
    threads: Threads
    perform: Callable[[Operation, Context], Awaitable[Success]]
    page_size: int | None = None
    """How many items a page of a list has; None: all of them."""
    switches: Switches | None = None
    """What is switched off; None: nothing ever is."""

    elsewhere: Elsewhere = nowhere

    async def unknown(self, kind: Kind, name: str) -> ProtocolError:
        """What is raised for a name that this process does not have."""
        words = f"Unknown {kind}: {name[:128]}"
        if await self.elsewhere(kind, name):
            words += " to this version of the server; another one, which is being deployed or replaced, has it"
            return ProtocolError(INVALID_PARAMS, words, {"reason": "other_version"})
        return ProtocolError(INVALID_PARAMS, words)

    @property
    def registry(self) -> Registry:
        """What is offered now."""
        return self.server.registry if self.switches is None else self.switches.registry

    def page(
        self,
        method: str,
        items: Sequence[Item],
        digest: Callable[[], str],
        params: Mapping[str, Any],
        context: Context,
    ) -> tuple[Sequence[Item], str | None]:
        """The page of a list that the params ask for, and the cursor of the next; `digest` gives its fingerprint."""

        def of() -> str:
            return pages.identity(method, digest(), self.server.cache_hint(method), context.principal)

        return pages.page(items, params, of=of, size=self.page_size)
