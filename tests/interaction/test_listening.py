"""`subscriptions/listen`: told of what was asked for, wherever in the fleet it changes."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from tests.answer import Json
from tests.fleets import Fleet, Launch
from tests.wire import MODERN, Client, RequestId, Stream, connected

SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId"


@asynccontextmanager
async def listening(client: Client, asked: Json, *, as_id: RequestId = 1) -> AsyncIterator[tuple[Stream, Json]]:
    """A stream, and the filter that was acknowledged on it."""
    async with client.asking("subscriptions/listen", {"notifications": asked}, as_id=as_id) as stream:
        assert (stream.status, stream.headers["content-type"]) == (200, "text/event-stream")
        first = await stream.message()
        assert first is not None
        assert first["method"] == "notifications/subscriptions/acknowledged"
        assert first["params"]["_meta"] == {SUBSCRIPTION: as_id}
        yield stream, first["params"]["notifications"]


@pytest.mark.parametrize("as_id", [0, "", "s", 7])
async def test_the_acknowledgement_comes_first_and_each_frame_names_the_stream(fleet: Fleet, as_id: RequestId) -> None:
    """Subscriptions, "Acknowledgment" and "Receiving Notifications"."""
    async with (
        connected(fleet.url, MODERN) as client,
        listening(client, {"toolsListChanged": True}, as_id=as_id) as (stream, honoured),
    ):
        assert honoured == {"toolsListChanged": True}
        await client.call("announce", what="tools")
        assert await stream.message() == {
            "jsonrpc": "2.0",
            "method": "notifications/tools/list_changed",
            "params": {"_meta": {SUBSCRIPTION: as_id}},
        }


async def test_what_was_not_asked_for_is_not_told(fleet: Fleet) -> None:
    """Subscriptions, "Opening a Stream": the server MUST NOT send types that were not requested."""
    async with (
        connected(fleet.url, MODERN) as client,
        listening(client, {}, as_id="none") as (silent, nothing),
        listening(client, {"toolsListChanged": True}, as_id="tools") as (told, _),
    ):
        assert nothing == {}
        await client.call("announce", what="tools")
        assert await told.message() is not None
        with pytest.raises(TimeoutError):
            await silent.event(within=0.3)


async def test_several_streams_of_a_client_are_told_apart_by_their_ids(fleet: Fleet) -> None:
    """Subscriptions, "Multiple Concurrent Subscriptions"."""
    asked = {"toolsListChanged": True}
    async with (
        connected(fleet.url, MODERN) as client,
        listening(client, asked, as_id="a") as (one, _),
        listening(client, asked, as_id="b") as (two, _),
    ):
        await client.call("announce", what="tools")
        found = [await one.message(), await two.message()]
    assert [message and message["params"]["_meta"] for message in found] == [{SUBSCRIPTION: "a"}, {SUBSCRIPTION: "b"}]


async def test_what_a_server_does_not_have_is_left_out_of_the_acknowledgement(
    fleet: Fleet, launch_fleet: Launch
) -> None:
    """Subscriptions, "Acknowledgment": types that the server does not support are omitted."""
    asked = {"toolsListChanged": True, "promptsListChanged": True, "com.example/stars": True}
    async with connected(fleet.url, MODERN) as client, listening(client, asked) as (_, honoured):
        assert honoured == {"toolsListChanged": True, "promptsListChanged": True}
    without_prompts = launch_fleet(1, server="tests.servers.tally:server")
    async with connected(without_prompts.url, MODERN) as client, listening(client, asked) as (_, honoured):
        assert honoured == {"toolsListChanged": True}


@pytest.mark.parametrize("params", [{}, {"notifications": []}, {"notifications": {"toolsListChanged": "yes"}}])
async def test_a_filter_that_is_none_is_refused(fleet: Fleet, params: Json) -> None:
    """Schema, `SubscriptionsListenRequestParams`: -32602 and 400."""
    async with connected(fleet.url, MODERN) as client:
        answer = await client.request("subscriptions/listen", params, as_id="h")
    assert (answer.status, answer.error["code"], answer.reply["id"]) == (400, -32602, "h")


async def test_a_client_that_closes_its_stream_is_told_nothing_more_and_may_listen_again(fleet: Fleet) -> None:
    """Subscriptions, "Cancellation"."""
    asked = {"toolsListChanged": True}
    async with connected(fleet.url, MODERN) as client:
        for _ in range(20):
            async with listening(client, asked):
                pass
        async with asyncio.TaskGroup() as tasks, listening(client, asked) as (stream, _):
            tasks.create_task(client.call("announce", what="tools"))
            assert await stream.message() is not None
