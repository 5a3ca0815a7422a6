"""Resources that a client watches, in each revision and on any process (server/resources, "Subscriptions")."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any
from uuid import uuid4

import pytest

from tests.answer import Json
from tests.fleets import Fleet
from tests.wire import EVERY, LEGACY, MODERN, Client, Stream, connected

URI = "config://app"
SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId"
every_revision = pytest.mark.parametrize("date", EVERY)
every_legacy = pytest.mark.parametrize("date", LEGACY)


@asynccontextmanager
async def watching(client: Client, *uris: str, lists: Sequence[str] = ()) -> AsyncIterator[Stream]:
    """A stream that tells of these resources and lists, in the way of the client's era, and of nothing older."""
    if client.modern:
        marker = f"test://marker/{uuid4()}"
        asked = {"resourceSubscriptions": [*uris, marker], **{f"{kind}ListChanged": True for kind in lists}}
        async with client.asking("subscriptions/listen", {"notifications": asked}, as_id="s") as stream:
            acknowledged = await stream.message()
            assert acknowledged is not None
            assert acknowledged["params"]["notifications"] == asked
            await client.call("announce", what="resource", uri=marker)
            while await stream.message() != updated(client, marker):
                pass  # published before the stream was open, and heard by its process only now
            yield stream
    else:
        for uri in uris:
            assert (await client.request("resources/subscribe", {"uri": uri})).result == {}
        async with client.listening() as stream:
            yield stream


def updated(client: Client, uri: str) -> Json:
    meta = {"_meta": {SUBSCRIPTION: "s"}} if client.modern else {}
    return {"jsonrpc": "2.0", "method": "notifications/resources/updated", "params": {"uri": uri, **meta}}


@every_revision
async def test_the_server_declares_what_it_tells_of(fleet: Fleet, date: str) -> None:
    """Tools, Prompts and Resources, "Capabilities"."""
    async with Client(fleet.url, date) as client:
        answer = await (client.request("server/discover") if client.modern else client.initialize())
    declared = answer.result["capabilities"]
    assert (declared["tools"], declared["prompts"]) == ({"listChanged": True}, {"listChanged": True})
    assert declared["resources"] == {"listChanged": True, "subscribe": True}


@every_revision
async def test_an_update_is_told_to_who_watches_exactly_this_uri(fleet: Fleet, date: str) -> None:
    """Resources, "Subscriptions"; Subscriptions, "Receiving Notifications"."""
    async with (
        connected(fleet.url, date) as client,
        connected(fleet.url, date) as other,
        watching(client, URI, "test://logo") as stream,
        watching(other, "test://logo") as others,
    ):
        for uri in ("test://several", f"{URI}/part", URI, "test://logo"):
            await client.call("announce", what="resource", uri=uri)
        assert await stream.message() == updated(client, URI)
        assert await stream.message() == updated(client, "test://logo")
        assert await others.message() == updated(other, "test://logo")


@every_revision
async def test_a_changed_list_of_each_kind_is_told(fleet: Fleet, date: str) -> None:
    """Tools, Prompts and Resources, "List Changed Notification"; params are omitted or an object."""
    kinds = ("tools", "prompts", "resources")
    async with connected(fleet.url, date) as client, watching(client, lists=kinds) as stream:
        for kind in kinds:
            await client.call("announce", what=kind)
            message: Any = await stream.message()
            assert message["method"] == f"notifications/{kind}/list_changed"
            assert message.get("params", {}) == ({"_meta": {SUBSCRIPTION: "s"}} if client.modern else {})


@every_legacy
async def test_what_is_watched_no_more_is_told_no_more(fleet: Fleet, date: str) -> None:
    """Resources, "Subscriptions"."""
    async with connected(fleet.url, date) as client, watching(client, URI, "test://logo") as stream:
        assert (await client.request("resources/unsubscribe", {"uri": URI})).result == {}
        assert (await client.request("resources/unsubscribe", {"uri": "never://watched"})).result == {}
        await client.call("announce", what="resource", uri=URI)
        await client.call("announce", what="resource", uri="test://logo")
        assert await stream.message() == updated(client, "test://logo")


@every_legacy
async def test_subscriptions_at_once_are_all_kept(fleet: Fleet, date: str) -> None:
    """Resources, "Subscriptions": every one was answered, on whichever process."""
    uris = [f"test://{number}" for number in range(10)]
    async with connected(fleet.url, date) as client:
        await asyncio.gather(*(client.request("resources/subscribe", {"uri": uri}, as_id=uri) for uri in uris))
        async with client.listening() as stream:
            for uri in uris:
                await client.call("announce", what="resource", uri=uri)
            assert [await stream.message() for _ in uris] == [updated(client, uri) for uri in uris]


@every_legacy
@pytest.mark.parametrize("params", [{}, {"uri": None}, {"uri": 7}, {"uri": ""}])
@pytest.mark.parametrize("method", ["resources/subscribe", "resources/unsubscribe"])
async def test_what_names_no_resource_is_refused(fleet: Fleet, date: str, params: Json, method: str) -> None:
    """Schema, `SubscribeRequest` and `UnsubscribeRequest`: -32602."""
    async with connected(fleet.url, date) as client:
        answer = await client.request(method, params, as_id="h")
    assert (answer.status, answer.error["code"], answer.reply["id"]) == (200, -32602, "h")


@pytest.mark.parametrize("method", ["resources/subscribe", "resources/unsubscribe"])
async def test_modern_clients_have_no_such_methods(fleet: Fleet, method: str) -> None:
    """Key Changes, "Removed": 404 and -32601."""
    async with connected(fleet.url, MODERN) as client:
        answer = await client.request(method, {"uri": URI})
    assert (answer.status, answer.error["code"]) == (404, -32601)
