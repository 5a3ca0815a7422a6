"""What every group of methods works with."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from mcpfleet.server import pages
from mcpfleet.server.context import Context
from mcpfleet.server.operation import Operation
from mcpfleet.server.outcome import Success
from mcpfleet.server.registry import Registry
from mcpfleet.server.server import Server
from mcpfleet.server.switches import Switches
from mcpfleet.server.threads import Threads

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
