"""Who may hear of what: principals, and the tokens that they show (Security, "Authorization")."""

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from tests.fleets import Fleet
from tests.wire import LATEST_HANDSHAKE, LEGACY, MODERN, Client, Stream, connected

PRIVATE = "private://alice/diary"
PUBLIC = "config://app"
both_eras = pytest.mark.parametrize("date", [LATEST_HANDSHAKE, MODERN])


@asynccontextmanager
async def watching(fleet: Fleet, date: str, token: str, *uris: str) -> AsyncIterator[tuple[Client, Stream, set[str]]]:
    """A client that watches what it may of these, its stream, and what it may not."""
    async with connected(fleet.url, date, headers={"Authorization": f"Bearer {token}"}) as client:
        if client.modern:
            asked = {"notifications": {"resourceSubscriptions": [*uris]}}
            async with client.asking("subscriptions/listen", asked) as stream:
                acknowledged = await stream.message()
                assert acknowledged is not None
                granted = acknowledged["params"]["notifications"].get("resourceSubscriptions", [])
                yield client, stream, {*uris} - {*granted}
        else:
            answers = {uri: await client.request("resources/subscribe", {"uri": uri}) for uri in uris}
            refused = {uri for uri, answer in answers.items() if "error" in answer.reply}
            assert {answers[uri].error["code"] for uri in refused} <= {-32602}
            async with client.listening() as stream:
                yield client, stream, refused


async def heard(stream: Stream) -> str:
    message = await stream.message()
    assert message is not None
    uri: str = message["params"]["uri"]
    return uri


@both_eras
async def test_a_principal_hears_nothing_of_what_it_may_not_watch(guarded: Fleet, date: str) -> None:
    async with (
        watching(guarded, date, "alice-1", PRIVATE, PUBLIC) as (alice, hers, nothing),
        watching(guarded, date, "bob", PRIVATE, PUBLIC) as (_, his, refused),
    ):
        assert (nothing, refused) == (set(), {PRIVATE})
        for uri in (PRIVATE, PUBLIC):
            await alice.call("announce", what="resource", uri=uri)
        assert [await heard(hers), await heard(hers)] == [PRIVATE, PUBLIC]
        assert await heard(his) == PUBLIC


@both_eras
async def test_an_update_for_one_principal_reaches_no_other(guarded: Fleet, date: str) -> None:
    """Nor one of the same name by another issuer, nor the same one by another client."""
    async with (
        watching(guarded, date, "alice-1", PUBLIC, "test://end") as (alice, first, _),
        watching(guarded, date, "alice-2", PUBLIC, "test://end") as (_, refreshed, _),
        watching(guarded, date, "bob", PUBLIC, "test://end") as (_, bobs, _),
        watching(guarded, date, "other-alice", PUBLIC, "test://end") as (_, others, _),
        watching(guarded, date, "alice-by-another-client", PUBLIC, "test://end") as (_, another, _),
    ):
        await alice.call("announce", what="resource", uri=PUBLIC, to_me_alone=True)
        await alice.call("announce", what="resource", uri="test://end")
        for stream in (first, refreshed):
            assert [await heard(stream), await heard(stream)] == [PUBLIC, "test://end"]
        for stream in (bobs, others, another):
            assert await heard(stream) == "test://end"


async def test_a_listen_stream_ends_with_its_token(guarded: Fleet) -> None:
    """Subscriptions, "Graceful Closure"."""
    token = f"alice-until-{time.time() + 1}"
    async with watching(guarded, MODERN, token, PUBLIC) as (_, stream, _):
        ended = await stream.answer()
    assert ended.messages[-1]["result"]["resultType"] == "complete"


@pytest.mark.parametrize("date", LEGACY)
async def test_a_standalone_stream_ends_with_its_token_and_goes_on_with_the_next(guarded: Fleet, date: str) -> None:
    """Transports, "Resumability and Redelivery": what came meanwhile is not lost."""
    async with connected(guarded.url, date, headers={"Authorization": "Bearer alice-1"}) as client:
        soon = {"Authorization": f"Bearer alice-until-{time.time() + 1}"}
        async with client.opened("GET", headers=soon) as stream:
            await client.call("announce", what="tools")
            assert await stream.message() is not None
            assert (await stream.answer()).status == 200
        await client.call("announce", what="prompts")
        async with client.listening(stream.last_event_id) as again:
            assert await again.message() == {"jsonrpc": "2.0", "method": "notifications/prompts/list_changed"}
