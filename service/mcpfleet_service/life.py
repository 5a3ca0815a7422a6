"""One run of an application, from start-up to shutdown: the engine that serves it, and how it leaves."""

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager

from mcpfleet.backplane.base import Backplane
from mcpfleet.server.choice import Choose
from mcpfleet.server.engine import Engine
from mcpfleet.server.events import Change
from mcpfleet.server.fleet import Kind
from mcpfleet.server.policy import Policy
from mcpfleet.server.server import Server
from mcpfleet.server.vitals import Report, Vitals
from mcpfleet_service.accounts import accounts
from mcpfleet_service.drain import Drain
from mcpfleet_service.metering import meter
from mcpfleet_service.metrics.siblings import Siblings
from mcpfleet_service.telemetry import observers


class Life:
    """Makes the engine at start-up, which is after the fork, and is where requests find it."""

    def __init__(self, *, drain_delay: float, audited: bool = False) -> None:
        self._delay = drain_delay
        self._audited = audited
        self.vitals = Vitals()
        self._siblings = Siblings(self._report)
        self._engine: Engine | None = None
        self._drain: Drain | None = None

    @property
    def engine(self) -> Engine:
        """The engine; `RuntimeError` before start-up, such as when whoever mounts the application runs no lifespan."""
        if self._engine is None:
            raise RuntimeError(
                "the application's lifespan has not been entered, so it cannot serve: "
                "whoever mounts it enters mcpfleet_service.mounting.lifespan_of(app) in its own"
            )
        return self._engine

    @property
    def siblings(self) -> Siblings:
        """This process among those behind its port."""
        return self._siblings

    @property
    def leaving(self) -> bool:
        """Whether this process was told to stop, or has to."""
        return self._drain is not None and self._drain.begun

    async def publish(self, change: Change) -> None:
        """Tell every process of a change; raises `Unavailable`, and `RuntimeError` before start-up."""
        await self.engine.fleet.publish(change)

    async def switch(self, kind: Kind, name: str, *, on: bool) -> None:
        """Switch one thing on or off on every process; raises as `publish` does, and `ValueError`."""
        await self.engine.fleet.switch(kind, name, on=on)

    @asynccontextmanager
    async def lived(
        self,
        opening: AbstractAsyncContextManager[Backplane],
        server: Server,
        policy: Policy,
        choose: Choose | None = None,
    ) -> AsyncIterator[None]:
        """Serve for the time of the block.

        If what keeps the engine alive dies, the process looks unready, and its web server is told to stop, since a
        server that has started asks its application no more; a supervisor will replace it.
        """
        drain = self._drain = Drain(self._begin, delay=self._delay)
        try:
            async with opening as backplane:
                watching = (*observers(server), accounts(server, self.vitals, audited=self._audited))
                self._engine = engine = Engine(
                    server, backplane, policy, choose, observers=watching, vitals=self.vitals
                )
                meter(engine)
                async with engine.running(), self._siblings.present():
                    with drain.on_signals():
                        yield
        except Exception:
            drain.give_up()
            raise

    def _report(self) -> Report:
        return self.engine.report()

    def _begin(self) -> None:
        self.engine.drain()
