"""The official Python SDK's client hears of changes, wherever in the fleet they happen, in both eras."""

import asyncio
from typing import Any

import pytest
from mcp import Client
from mcp.client.subscriptions import SubscriptionLost, ToolsListChanged
from mcp.shared.exceptions import MCPDeprecationWarning
from mcp_types import ResourceUpdatedNotification, ToolListChangedNotification

from tests import wire
from tests.fleets import Fleet, Launch, Shape

SECONDS = 20.0
URI = "config://app"
THREE = pytest.mark.parametrize("fleet", [Shape("redis", 3)], indirect=True, ids=str)


@THREE
async def test_a_modern_client_hears_of_changes_on_its_stream(fleet: Fleet) -> None:
    async with asyncio.timeout(SECONDS), Client(fleet.url) as client:
        assert client.protocol_version == wire.MODERN
        async with client.listen(tools_list_changed=True, resource_subscriptions=[URI]) as subscription:
            assert subscription.honored.tools_list_changed
            assert subscription.honored.resource_subscriptions == [URI]
            await client.call_tool("announce", {"what": "resource", "uri": URI})
            assert str((await anext(subscription)).uri) == URI  # type: ignore[union-attr]  # an update, if any
            await client.call_tool("announce", {"what": "tools"})
            assert isinstance(await anext(subscription), ToolsListChanged)


async def test_a_modern_client_is_told_of_the_end_of_its_process(launch_fleet: Launch) -> None:
    """And does not take it for a lost stream."""
    fleet = launch_fleet(2)
    async with (
        asyncio.timeout(SECONDS),
        Client(fleet.url) as client,
        client.listen(tools_list_changed=True) as subscription,
    ):
        for process in fleet.processes:
            process.terminate()
        assert [event async for event in subscription] == []
        assert [await asyncio.to_thread(process.await_exit) for process in fleet.processes] == [0, 0]


async def test_a_modern_client_notices_that_its_process_was_killed(launch_fleet: Launch) -> None:
    fleet = launch_fleet(1)
    async with (
        asyncio.timeout(SECONDS),
        Client(fleet.url) as client,
        client.listen(tools_list_changed=True) as subscription,
    ):
        fleet.processes[0].kill()
        with pytest.raises(SubscriptionLost):
            await anext(subscription)


@THREE
async def test_a_legacy_client_hears_of_what_it_has_subscribed_to(fleet: Fleet) -> None:
    heard: asyncio.Queue[Any] = asyncio.Queue()

    async def note(message: Any) -> None:
        heard.put_nowait(message)

    async with asyncio.timeout(SECONDS), Client(fleet.url, mode="legacy", message_handler=note) as client:
        with pytest.warns(MCPDeprecationWarning):
            await client.subscribe_resource(URI)
        await client.call_tool("announce", {"what": "resource", "uri": "test://other"})
        await client.call_tool("announce", {"what": "resource", "uri": URI})
        await client.call_tool("announce", {"what": "tools"})
        first, second = await heard.get(), await heard.get()
    assert isinstance(first, ResourceUpdatedNotification)
    assert str(first.params.uri) == URI
    assert isinstance(second, ToolListChangedNotification)
