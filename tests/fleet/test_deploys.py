"""A rolling deploy whose new version has other tools: clients hear of it, and nobody is told a half of each list."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Final

from tests.answer import Answer
from tests.fleet.rolling import replaced
from tests.fleets import Launch
from tests.servers.deployed import ONE, TWO
from tests.wire import LATEST_HANDSHAKE, MODERN, Client, Stream, connected

HEARD_SECONDS: Final = 15.0
"""Within this time every process has noticed who came and who left: two beats of 5 s, and a reserve."""
ASKED: Final = {"notifications": {"toolsListChanged": True}}


@asynccontextmanager
async def watching(client: Client, pin: int) -> AsyncIterator[Stream]:
    """A stream of one process that tells of tools."""
    if not client.modern:
        async with client.listening(pin=pin) as stream:
            yield stream
        return
    async with client.asking("subscriptions/listen", ASKED, pin=pin) as stream:
        assert await stream.message() is not None
        yield stream


async def changed(stream: Stream) -> None:
    message = await stream.message(HEARD_SECONDS)
    assert message is not None
    assert message["method"] == "notifications/tools/list_changed"


async def test_clients_hear_when_the_new_version_has_come_and_again_when_the_old_one_is_gone(
    launch_fleet: Launch,
) -> None:
    """Tools, "List Changed Notification": a list that is fetched in between may be either version's."""
    fleet = launch_fleet(2, server=ONE, DRAIN_DELAY="0.3")
    async with connected(fleet.url, LATEST_HANDSHAKE) as legacy, connected(fleet.url, MODERN) as modern:
        async with AsyncExitStack() as held:
            streams = [await held.enter_async_context(watching(client, 1)) for client in (legacy, modern)]
            await replaced(fleet, 0, server=TWO)
            for stream in streams:
                await changed(stream)
        async with AsyncExitStack() as held:
            streams = [await held.enter_async_context(watching(client, 0)) for client in (legacy, modern)]
            await replaced(fleet, 1)
            for stream in streams:
                await changed(stream)
        for client in (legacy, modern):
            listed = (await client.request("tools/list")).result["tools"]
            assert [tool["name"] for tool in listed] == ["common", "new"]


async def test_during_the_deploy_each_version_says_what_only_the_other_has_and_no_page_is_of_both(
    launch_fleet: Launch,
) -> None:
    """Pagination, "Error Handling": a cursor of another list is invalid, -32602."""
    fleet = launch_fleet(2, server=ONE, DRAIN_DELAY="0.3", PAGE_SIZE="1")
    await replaced(fleet, 0, server=TWO)
    for date in (LATEST_HANDSHAKE, MODERN):
        async with connected(fleet.url, date) as client:
            for pin in (0, 1):
                assert (await client.call("common", x="both", pin=pin)).text == "both"
            assert (await client.call("new", pin=0)).text == "new"
            assert (await client.call("old", pin=1)).text == "old"
            for pin, tool in ((1, "new"), (0, "old")):
                error = (await told(client, tool, pin)).error
                assert (error["code"], error["data"]) == (-32602, {"reason": "other_version"})
            cursor = (await client.request("tools/list", pin=1)).result["nextCursor"]
            assert (await client.request("tools/list", {"cursor": cursor}, pin=0)).error["code"] == -32602
            [last] = (await client.request("tools/list", {"cursor": cursor}, pin=1)).result["tools"]
            assert last["name"] == "old"


async def told(client: Client, tool: str, pin: int) -> Answer:
    """The refusal of a tool, once the process has heard of the other version."""
    async with asyncio.timeout(HEARD_SECONDS):
        while "data" not in (answer := await client.call(tool, pin=pin)).error:
            pass
    return answer
