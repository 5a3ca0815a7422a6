"""`app.state.fleet`: telling clients of changes from outside of any request."""

import pytest

from mcpfleet import Server
from mcpfleet.backplane.memory import MemoryBackplane, MemoryStore
from mcpfleet.server.events import EVENTS, Change, read
from mcpfleet_service.app import create_app


async def test_a_change_is_published_to_every_process() -> None:
    store = MemoryStore()
    app = create_app(Server("s"), backplane=MemoryBackplane(store))
    async with app.router.lifespan_context(app):
        await app.state.fleet.notify_resource_updated("a://b")
        log = store.log(EVENTS)
        assert log is not None
        assert [read(entry.data) for entry in log.after(log.start, 100)] == [Change("resource", "a://b")]


async def test_before_the_start_nobody_can_be_told() -> None:
    app = create_app(Server("s"))
    with pytest.raises(RuntimeError, match="lifespan"):
        await app.state.fleet.notify_tools_changed()
