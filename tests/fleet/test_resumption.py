"""A legacy call is taken up again on any process ("Transports", "Resumability and Redelivery")."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import pytest

from tests.answer import Json
from tests.fleets import Fleet, Launch, Shape
from tests.server.world import eventually
from tests.wire import EVERY, LATEST_HANDSHAKE, LEGACY, Client, Stream, connected

every_legacy = pytest.mark.parametrize("date", LEGACY)
THREE = pytest.mark.parametrize("fleet", [Shape("redis", 3)], indirect=True, ids=str)
ANY = pytest.mark.parametrize("fleet", [Shape("memory", 1), Shape("redis", 3)], indirect=True, ids=str)


@ANY
@every_legacy
async def test_a_call_that_is_cut_midway_goes_on_elsewhere_once_in_order_up_to_its_result(
    fleet: Fleet, date: str
) -> None:
    """Resumability and Redelivery: what would have been sent after the last event id, on that stream alone."""
    async with listener(fleet, date) as client:
        async with client.calling("count", as_id="cut", pin=0, n=30, delay=0.02) as stream:
            before = await counted(stream, 10)
        answer = await client.resume(stream.last_event_id, pin=len(fleet.processes) - 1)
    assert numbers([*before, *answer.messages]) == [*range(1, 31)]
    assert answer.messages[-1] == answer.reply
    assert (answer.reply["id"], answer.text) == ("cut", "30")


@THREE
async def test_twenty_clients_that_are_cut_at_once_each_get_their_own_rest(fleet: Fleet) -> None:
    """Resumability and Redelivery: one stream is never mixed with another, of the same session or not."""

    async def one(client: Client, turn: int) -> tuple[list[int], str]:
        length = 10 + turn
        async with client.calling("count", as_id=1, pin=turn % 3, n=length, delay=0.02) as stream:
            before = await counted(stream, 3)
        answer = await client.resume(stream.last_event_id, pin=(turn + 1) % 3)
        return numbers([*before, *answer.messages]), answer.text

    async with listener(fleet, LATEST_HANDSHAKE) as shared:

        async def alone(turn: int) -> tuple[list[int], str]:
            async with listener(fleet, LATEST_HANDSHAKE) as client:
                return await one(client, turn)

        found = await asyncio.gather(*(alone(turn) if turn % 2 else one(shared, turn) for turn in range(20)))
    assert found == [([*range(1, 11 + turn)], str(10 + turn)) for turn in range(20)]


@THREE
async def test_five_thousand_events_are_replayed_while_a_thousand_more_are_emitted(fleet: Fleet) -> None:
    """Resumability and Redelivery: gapless, in order and once, from every process; others of the session are served."""
    async with listener(fleet, LATEST_HANDSHAKE) as client:
        async with client.calling("flood_twice", as_id="long", pin=0, first=5000, second=1000) as stream:
            assert numbers(await counted(stream, 1)) == [1]
            place = stream.last_event_id
            assert numbers(await counted(stream, 4999)) == [*range(2, 5001)]
        async with client.listening(place, pin=1) as again:
            assert numbers(await counted(again, 100)) == [*range(2, 102)]
            await client.call("go_on", pin=0)
            assert (await client.call("echo", x="served", pin=1)).text == "served"
            replayed = await again.answer()
        late = await client.resume(place, pin=2)
    for answer in (replayed, late):
        assert numbers(answer.messages) == [*range(2, 6001)]
        assert answer.text == "6000"


@THREE
@every_legacy
async def test_a_stream_may_be_cut_again_and_again(fleet: Fleet, date: str) -> None:
    """Resumability and Redelivery: from process to process, after every few events."""
    async with listener(fleet, date) as client:
        async with client.calling("count", pin=0, n=20, delay=0.02) as stream:
            got = await counted(stream, 3)
        for hop in range(1, 5):
            async with client.listening(stream.last_event_id, pin=hop % 3) as stream:
                got += await counted(stream, 3)
        answer = await client.resume(stream.last_event_id, pin=2)
    assert numbers([*got, *answer.messages]) == [*range(1, 21)]


@THREE
async def test_a_stream_that_is_taken_up_again_says_at_once_where_it_is(fleet: Fleet) -> None:
    """Sending Messages to the Server: clients that keep an id for one connection alone may be cut off once more."""
    async with listener(fleet, LATEST_HANDSHAKE) as client:
        async with client.calling("slow", pin=0, seconds=1, tag="waited for") as stream:
            await stream.event()
        async with client.listening(stream.last_event_id, pin=1) as again:
            primed = await again.event()
        assert primed is not None
        assert (primed.data, primed.id) == (b"", stream.last_event_id)
        assert (await client.resume(again.last_event_id, pin=2)).text == "waited for"


@THREE
@every_legacy
async def test_a_newer_connection_takes_the_stream_from_an_older_one(fleet: Fleet, date: str) -> None:
    """Resumability and Redelivery: a message is sent on one stream only, and the older connection may be half dead."""
    async with listener(fleet, date) as client, client.calling("count", pin=0, n=40, delay=0.03) as first:
        assert numbers(await counted(first, 2)) == [1, 2]
        async with client.listening(first.last_event_id, pin=1) as second:
            assert numbers(await counted(second, 2)) == [3, 4]
            assert (await first.answer()).replies == [], "it has ended, long before the call"
            third = await client.resume(second.last_event_id, pin=2)
            assert (await second.answer()).replies == []
    assert numbers(third.messages) == [*range(5, 41)]
    assert third.text == "40"


@THREE
async def test_a_client_that_saw_only_the_priming_event_gets_everything(fleet: Fleet) -> None:
    """Transports 2025-11-25, "Sending Messages to the Server": that is what the priming event is for."""
    async with listener(fleet, LATEST_HANDSHAKE) as client:
        async with client.calling("count", pin=0, n=5, delay=0.02) as stream:
            assert await stream.event() is not None
        answer = await client.resume(stream.last_event_id, pin=1)
    assert numbers(answer.messages) == [1, 2, 3, 4, 5]
    assert answer.text == "5"


@THREE
async def test_a_tool_hangs_up_and_its_client_comes_back_for_the_rest_on_any_process(fleet: Fleet) -> None:
    """Transports 2025-11-25, "Sending Messages to the Server": told how long to wait, wherever it is connected."""
    async with connected(fleet.url, LATEST_HANDSHAKE) as client:
        async with client.calling("part", pin=0, token="t", turns=2) as first:
            assert [message["params"]["progress"] for message in await counted(first, 1)] == [1]
            await client.call("go_on", pin=0)
            left = [await first.answer()]
        async with client.listening(first.last_event_id, pin=1) as second:
            assert [message["params"]["progress"] for message in await counted(second, 1)] == [2]
            await client.call("go_on", pin=0)
            left += [await second.answer()]
        await client.call("go_on", pin=0)
        answer = await client.resume(second.last_event_id, pin=2)
    assert [each.messages[1:] for each in left] == [[], []]
    assert [each.events[-1].retry_ms for each in left] == [500, 500]
    assert answer.messages == [answer.reply]
    assert answer.text == "back"


@ANY
@pytest.mark.parametrize("date", [date for date in EVERY if date != LATEST_HANDSHAKE])
async def test_nobody_is_hung_up_on_who_would_not_come_back(fleet: Fleet, date: str) -> None:
    """In older revisions a client may have nothing to resume from, and in the modern one it would have cancelled."""
    async with connected(fleet.url, date) as client, client.calling("part", pin=0, token="t", turns=1) as stream:
        assert await stream.message() is not None
        for _ in range(2):
            await client.call("go_on", pin=0)
        assert (await stream.answer()).text == "back"


@ANY
@every_legacy
async def test_an_ended_stream_can_be_replayed_from_each_of_its_events(fleet: Fleet, date: str) -> None:
    """Resumability and Redelivery: a result that was lost on its way is not lost."""
    async with listener(fleet, date) as client:
        events = [event for event in (await client.call("count", as_id="r", n=4)).events if event.data]
        for place, event in enumerate(events, start=1):
            assert event.id is not None
            answer = await client.resume(event.id)
            assert [each.data for each in answer.events if each.data] == [each.data for each in events[place:]]


@ANY
@every_legacy
async def test_an_event_id_that_is_not_of_this_session_and_stream_is_refused_and_replays_nothing(
    fleet: Fleet, date: str
) -> None:
    """Resumability and Redelivery: never what belongs to another stream; another session's id is no id here."""
    async with listener(fleet, date) as mine, listener(fleet, date) as theirs:
        first, second, foreign = [
            [str(event.id) for event in (await client.call("count", as_id=7, n=5)).events]
            for client in (mine, mine, theirs)
        ]
        for forged in [*spliced(first[0], second[1]), *spliced(first[1], foreign[1]), *foreign, *RANDOM]:
            answer = await mine.resume(forged)
            assert (answer.status, answer.error["code"]) == (400, -32600), forged
            assert answer.headers["Content-Type"] == "application/json"
        assert numbers((await mine.resume(first[-2])).messages) == []
        assert (await mine.resume(first[-2])).text == "5"


async def test_what_is_no_longer_kept_is_told_and_never_skipped(launch_fleet: Launch) -> None:
    """Resumability and Redelivery: a gap ends the stream with an error for its request."""
    fleet = launch_fleet(2, RETENTION_ENTRIES="5")
    async with listener(fleet, LATEST_HANDSHAKE) as client:
        events = (await client.call("count", as_id="gap", n=30)).events
        answer = await client.resume(str(events[0].id))
        assert numbers(answer.messages) == []
        assert answer.reply["id"] == "gap"
        assert answer.error["data"] == {"reason": "not_replayable"}
        kept = await client.resume(str(events[-3].id))
        assert kept.text == "30"


async def test_a_process_that_slept_past_what_is_kept_tells_its_client_so(launch_fleet: Launch) -> None:
    """Resumability and Redelivery: what it missed meanwhile is neither skipped nor made up, and the session lives."""
    fleet = launch_fleet(2, RETENTION_ENTRIES="5")
    async with listener(fleet, LATEST_HANDSHAKE) as client:
        async with client.calling("count", as_id="slept", pin=0, n=100, delay=0.02) as stream:
            assert await stream.message() is not None
        async with client.listening(stream.last_event_id, pin=1) as follower:
            assert await follower.message() is not None
            fleet.processes[1].freeze()
            await eventually(lambda: not any(b"/alive" in key for key in fleet.stored_keys()))
            fleet.processes[1].thaw()
            answer = await follower.answer()
        assert answer.reply["id"] == "slept"
        assert answer.error["data"] == {"reason": "not_replayable"}
        assert (await client.call("echo", x="lives", pin=1)).text == "lives"


RANDOM = ("0", "1-0", "_GET_stream", "x" * 100, "9" * 4000, "c." + "0" * 16 + ".1-" + "0" * 16 + "." + "0" * 16, "..")


def spliced(one: str, other: str) -> list[str]:
    """Ids that no stream gave: parts of one in the place of the other's, and one with another number."""
    ours, theirs = one.split("."), other.split(".")
    mixed = [".".join([*ours[:part], theirs[part], *ours[part + 1 :]]) for part in range(1, len(ours))]
    mixed += [".".join([kind, *ours[1:]]) for kind in "ces"]
    offset, mark = ours[2].split("-")
    moved = [".".join([*ours[:2], f"{int(offset) + step}-{mark}", *ours[3:]]) for step in (1, 10**14)]
    return [each for each in [*mixed, *moved, one[:-1], one + "0", one.upper()] if each not in (one, other)]


@asynccontextmanager
async def listener(fleet: Fleet, date: str) -> AsyncIterator[Client]:
    """A client that is sent every log message: these, unlike progress, are never replaced by newer ones."""
    async with connected(fleet.url, date) as client:
        assert (await client.request("logging/setLevel", {"level": "debug"})).result == {}
        yield client


async def counted(stream: Stream, upto: int) -> list[Json]:
    """The next messages, until so many of them have come."""
    return [message for _ in range(upto) if (message := await stream.message()) is not None]


def numbers(messages: Sequence[Json]) -> list[int]:
    """What the tool `count` logged, in the order of arrival."""
    logged = [message["params"] for message in messages if message.get("method") == "notifications/message"]
    return [params["data"]["count"] for params in logged]
