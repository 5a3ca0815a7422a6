"""A session's standalone streams: each change once, on the newest, wherever it is open ("Transports", "Listening")."""

from contextlib import AsyncExitStack

import pytest

from tests.fleet.changes import announcing
from tests.fleets import Fleet, Launch, Shape
from tests.wire import LATEST_HANDSHAKE, LEGACY, connected

CHANGED = {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}
every_legacy = pytest.mark.parametrize("date", LEGACY)
THREE = pytest.mark.parametrize("fleet", [Shape("redis", 3)], indirect=True, ids=str)


@THREE
@every_legacy
async def test_a_change_reaches_the_stream_of_every_session_on_every_process_once(fleet: Fleet, date: str) -> None:
    """Tools, "List Changed Notification"."""
    async with announcing(fleet) as announcer, AsyncExitStack() as held:
        clients = [await held.enter_async_context(connected(fleet.url, date)) for _ in range(6)]
        streams = [
            await held.enter_async_context(client.listening(pin=turn % 3)) for turn, client in enumerate(clients)
        ]
        await announcer.tools_changed()
        for stream in streams:
            assert await stream.message() == CHANGED
        for client, stream in zip(clients, streams, strict=True):
            assert (await client.end()).status == 204
            assert (await stream.answer()).messages == [CHANGED]


@THREE
@every_legacy
async def test_a_newer_stream_is_served_at_once_and_an_older_one_stays_open_but_silent(fleet: Fleet, date: str) -> None:
    """Listening for Messages: several streams may be open, and a message goes on one of them only."""
    async with (
        announcing(fleet) as announcer,
        connected(fleet.url, date) as client,
        client.listening(pin=0) as older,
        client.listening(pin=1) as newer,
    ):
        assert (older.status, newer.status) == (200, 200)
        await announcer.tools_changed()
        assert await newer.message() == CHANGED
        assert (await client.end()).status == 204
        assert (await older.answer()).messages == []
        assert (await newer.answer()).messages == [CHANGED]


@THREE
@every_legacy
async def test_a_resumed_stream_ends_the_connection_that_it_replaces(fleet: Fleet, date: str) -> None:
    """Resumability and Redelivery: the client has left the older one, though its process may not know."""
    async with (
        announcing(fleet) as announcer,
        connected(fleet.url, date) as client,
        client.listening(pin=0) as older,
    ):
        await announcer.tools_changed()
        assert await older.message() == CHANGED
        async with client.listening(older.last_event_id, pin=1) as newer:
            assert (await older.answer()).messages == [CHANGED]
            await announcer.tools_changed()
            assert await newer.message() == CHANGED


async def test_a_stream_that_a_frozen_process_holds_does_not_keep_a_new_one_out(launch_fleet: Launch) -> None:
    """Listening for Messages: nobody waits until the old connection is found dead."""
    fleet = launch_fleet(2)
    async with (
        announcing(fleet) as announcer,
        connected(fleet.url, LATEST_HANDSHAKE) as client,
        client.listening(pin=0),
    ):
        fleet.processes[0].freeze()
        async with client.listening(pin=1) as newer:
            await announcer.tools_changed()
            assert await newer.message() == CHANGED
        fleet.processes[0].thaw()


@THREE
@every_legacy
async def test_the_first_stream_also_tells_of_what_changed_since_the_handshake(fleet: Fleet, date: str) -> None:
    """Tools, "List Changed Notification": a client may list before it listens, and misses nothing in between."""
    async with announcing(fleet) as announcer, connected(fleet.url, date) as client:
        await announcer.tools_changed()
        async with client.listening(pin=2) as stream:
            assert await stream.message() == CHANGED


@THREE
@every_legacy
async def test_an_event_id_of_another_sessions_stream_is_refused(fleet: Fleet, date: str) -> None:
    """Resumability and Redelivery: a standalone stream's id is no less its session's own than a call's."""
    async with (
        announcing(fleet) as announcer,
        connected(fleet.url, date) as mine,
        connected(fleet.url, date) as theirs,
        theirs.listening() as stream,
    ):
        await announcer.tools_changed()
        assert await stream.message() == CHANGED
        refused = await mine.resume(stream.last_event_id)
        assert (refused.status, refused.error["code"]) == (400, -32600)


@THREE
async def test_a_client_that_does_not_read_harms_only_itself(fleet: Fleet) -> None:
    """Transports: one unread stream stalls neither its session nor its process; once read, nothing is missing."""
    async with connected(fleet.url, LATEST_HANDSHAKE) as client:
        await client.request("logging/setLevel", {"level": "info"})
        async with client.calling("flood", as_id=1, pin=0, n=400, size=2**16) as unread:  # far beyond any buffer
            assert await unread.message() is not None
            for turn in range(20):
                assert (await client.call("echo", as_id=1, pin=0, x=f"{turn}")).text == f"{turn}"
            answer = await unread.answer()
    assert [message["params"]["data"]["count"] for message in answer.notifications] == [*range(1, 401)]
    assert answer.text == "400"
