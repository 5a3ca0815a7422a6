"""Tools that are disabled while the fleet serves, on every process and for everybody (Tools, "List Changed")."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from tests.fleets import Fleet, Launch
from tests.redis_server import RedisServer
from tests.wire import LATEST_HANDSHAKE, MODERN, Client, Stream, connected

SERVER = "tests.servers.switched:server"
CHANGED = "notifications/tools/list_changed"
both_eras = pytest.mark.parametrize("date", [LATEST_HANDSHAKE, MODERN])


@asynccontextmanager
async def told(client: Client, pin: int) -> AsyncIterator[Stream]:
    """A stream of changes, in the way of the client's era."""
    if client.modern:
        asked = {"notifications": {"toolsListChanged": True}}
        async with client.asking("subscriptions/listen", asked, as_id="s", pin=pin) as stream:
            assert await stream.message() is not None
            yield stream
    else:
        async with client.listening(pin=pin) as stream:
            assert await stream.event() is not None
            yield stream


async def tools(client: Client, pin: int) -> list[str]:
    return [tool["name"] for tool in (await client.request("tools/list", pin=pin)).result["tools"]]


async def switch(client: Client, name: str, *, on: bool, pin: int) -> None:
    assert (await client.call("switch", pin=pin, kind="tool", name=name, on=on)).result.get("isError", False) is False


@both_eras
async def test_a_list_that_is_fetched_after_the_notification_shows_it_on_any_process(
    launch_fleet: Launch, date: str
) -> None:
    fleet = launch_fleet(3, server=SERVER)
    async with connected(fleet.url, date) as client, told(client, 1) as stream:
        for turn in range(30):
            await switch(client, "first", on=bool(turn % 2), pin=turn % 3)
            message = await stream.message()
            assert message is not None
            assert message["method"] == CHANGED
            for pin in range(3):
                assert ("first" in await tools(client, pin)) is bool(turn % 2)


@both_eras
async def test_what_is_off_stays_off_for_processes_that_come_later(launch_fleet: Launch, date: str) -> None:
    fleet = launch_fleet(2, server=SERVER)
    async with connected(fleet.url, date) as client:
        await switch(client, "first", on=False, pin=0)
        for process in range(2):
            fleet.restart(process)
        for pin in range(2):
            assert await tools(client, pin) == ["second", "switch", "update"]
            error = (await client.call("first", pin=pin)).error
            assert (error["code"], error["message"]) == (-32602, "Unknown tool: first")
        await switch(client, "first", on=True, pin=1)
        assert "first" in await tools(client, 0)


async def test_a_restarted_redis_has_not_forgotten_what_is_off(launch_fleet: Launch, own_redis: RedisServer) -> None:
    fleet = launch_fleet(2, redis_url=own_redis.url, server=SERVER)
    async with connected(fleet.url, MODERN) as client:
        await switch(client, "first", on=False, pin=0)
        assert "first" not in await tools(client, 1)
        own_redis.kill()
        for pin in range(2):
            assert "first" not in await tools(client, pin), "what was known last"
            assert (await client.call("second", pin=pin)).text == "second"
        own_redis.start()
        await until_back(client, fleet)
        for pin in range(2):
            assert "first" not in await tools(client, pin)


async def until_back(client: Client, fleet: Fleet) -> None:
    """Return once every process can switch again."""
    for pin in range(len(fleet.processes)):
        while (await client.call("switch", pin=pin, kind="tool", name="second", on=True)).result.get("isError"):
            pass
