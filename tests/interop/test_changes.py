"""The official clients hear of changes, wherever in the fleet they happen, in every era and over every transport."""

import asyncio

import pytest

from tests.fleets import Fleet
from tests.interop.conftest import Drivers, where
from tests.interop.driver import Connection
from tests.interop.subjects import Subject, shows

EVERY_LIST = {"toolsListChanged": True, "promptsListChanged": True, "resourcesListChanged": True}


async def watch(client: Connection, subject: Subject, *uris: str) -> None:
    """Have the client watch these, in the way of its era."""
    if subject.modern:
        wanted = {**EVERY_LIST, "resourceSubscriptions": list(uris)} if uris else EVERY_LIST
        assert await client.do("listen", {"filter": wanted}) == wanted
    else:
        for uri in uris:
            await client.request("resources/subscribe", {"uri": uri})


@shows("changes")
async def test_it_hears_of_the_resources_that_it_watches(client: Connection, subject: Subject) -> None:
    one, two = f"test://{subject}/one", f"test://{subject}/two"
    await watch(client, subject, one, two)
    for uri in ("test://other", one, two):
        await client.call("announce", what="resource", uri=uri)
    heard = [await client.heard("notifications/resources/updated") for _ in range(2)]
    assert [params["uri"] for params in heard] == [one, two]


@shows("resources/subscribe")
async def test_it_hears_no_more_of_what_it_has_stopped_to_watch(client: Connection, subject: Subject) -> None:
    dropped, kept = f"test://{subject}/dropped", f"test://{subject}/kept"
    await watch(client, subject, dropped, kept)
    await client.request("resources/unsubscribe", {"uri": dropped})
    for uri in (dropped, kept):
        await client.call("announce", what="resource", uri=uri)
    assert (await client.heard("notifications/resources/updated"))["uri"] == kept


@shows("changes")
@pytest.mark.parametrize("what", ["tools", "prompts", "resources"])
async def test_it_hears_that_a_list_is_another(client: Connection, subject: Subject, what: str) -> None:
    await watch(client, subject)
    await client.call("announce", what=what)
    await client.heard(f"notifications/{what}/list_changed")


@shows("changes")
async def test_it_hears_that_a_tool_is_gone_and_finds_it_gone(client: Connection, subject: Subject) -> None:
    await watch(client, subject)
    for on in (False, True):
        await client.call("switch", kind="prompt", name="greet", on=on)
        await client.heard("notifications/prompts/list_changed")
        prompts = (await client.request("prompts/list"))["prompts"]
        assert ("greet" in {prompt["name"] for prompt in prompts}) is on


@shows("subscriptions/listen")
async def test_it_ends_its_stream_when_it_has_heard_enough(client: Connection, subject: Subject) -> None:
    await watch(client, subject)
    await client.do("unlisten")
    assert (await client.heard("test/closed"))["why"] == "local"
    assert await client.call("echo", x="still there") == "still there"


@shows("subscriptions/listen", "http")
async def test_it_is_told_of_the_end_of_its_stream_or_notices(
    subject: Subject, drivers: Drivers, fragile: Fleet
) -> None:
    """A process that is asked to end says goodbye; one that is killed cannot."""
    async with drivers[subject.client].connected(where(subject, fragile), era=subject.era) as client:
        await watch(client, subject)
        leaving = fragile.processes[fragile.balancer.served[-1].process]
        leaving.terminate()
        assert (await client.heard("test/closed"))["why"] == "graceful"
        assert await asyncio.to_thread(leaving.await_exit) == 0
        await watch(client, subject)
        fragile.processes[fragile.balancer.served[-1].process].kill()
        assert (await client.heard("test/closed"))["why"] == "remote"
