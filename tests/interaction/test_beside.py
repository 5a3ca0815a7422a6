"""What sessions are told that belongs to no request, on the streams of their own (Logging; Elicitation, "URL Mode")."""

import secrets

import pytest

from tests.answer import Json
from tests.fleets import Fleet, Launch
from tests.pair import opened
from tests.wire import LATEST_HANDSHAKE, LEGACY, MODERN, Client, Stream, connected

COMPLETE = "notifications/elicitation/complete"


@pytest.fixture(scope="module")
def json_only(launch_for_module: Launch) -> Fleet:
    """Two processes that answer with JSON."""
    return launch_for_module(2, server="tests.servers.featured:server", JSON_RESPONSE="true")


@pytest.fixture(scope="module")
def paired(launch_for_module: Launch) -> Fleet:
    """Two processes that serve the oldest transport."""
    return launch_for_module(2, server="tests.servers.featured:server", SSE="true")


@pytest.mark.parametrize("date", LEGACY)
async def test_a_log_message_of_no_request_reaches_the_sessions_that_ask_for_its_level(
    featured: Fleet, date: str
) -> None:
    """Logging, "Message Flow": at the level that was set, or more severe, whichever process logs."""
    words = secrets.token_hex(4)
    async with connected(featured.url, date) as client, client.listening() as stream:
        await client.request("logging/setLevel", {"level": "warning"})
        for level in ("debug", "warning", "error"):
            await said(featured, level, words)
        assert [await logged(stream, words) for _ in range(2)] == [message("warning", words), message("error", words)]


async def test_whoever_has_asked_for_no_messages_gets_none(featured: Fleet) -> None:
    """Logging: nothing is sent before a level is set."""
    words = secrets.token_hex(4)
    async with connected(featured.url, LATEST_HANDSHAKE) as client, client.listening() as stream:
        await said(featured, "error", words)
        await client.request("logging/setLevel", {"level": "debug"})
        await said(featured, "debug", words)
        assert await logged(stream, words) == message("debug", words)


async def test_a_level_that_is_set_again_counts_at_once(featured: Fleet) -> None:
    words = secrets.token_hex(4)
    async with connected(featured.url, LATEST_HANDSHAKE) as client, client.listening() as stream:
        for level, heard in (("debug", "debug"), ("error", "error"), ("debug", "debug")):
            assert (await client.request("logging/setLevel", {"level": level})).result == {}
            await said(featured, "debug", words)
            await said(featured, "error", words)
            assert await logged(stream, words) == message(heard, words)
            if heard == "debug":
                assert await logged(stream, words) == message("error", words)


async def test_a_message_from_before_a_stream_was_opened_again_is_told_then(featured: Fleet) -> None:
    """Transports, "Resumability and Redelivery"."""
    words = secrets.token_hex(4)
    async with connected(featured.url, LATEST_HANDSHAKE) as client:
        await client.request("logging/setLevel", {"level": "debug"})
        async with client.listening() as stream:
            assert await stream.event() is not None
            place = stream.last_event_id
        await said(featured, "warning", words)
        async with client.listening(place) as stream:
            assert await logged(stream, words) == message("warning", words)


async def test_one_session_is_told_that_its_page_is_done(featured: Fleet) -> None:
    """Elicitation, "Completion Notifications for URL Mode": only the client that was sent there."""
    async with (
        connected(featured.url, LATEST_HANDSHAKE) as client,
        connected(featured.url, LATEST_HANDSHAKE) as other,
        client.listening() as stream,
        other.listening() as elsewhere,
    ):
        page, own = secrets.token_hex(4), secrets.token_hex(4)
        await told(featured, page, client)
        await told(featured, own, other)
        assert await completed(stream) == page
        assert await completed(elsewhere) == own


async def test_a_revision_without_that_notification_does_not_get_it(featured: Fleet) -> None:
    words = secrets.token_hex(4)
    async with connected(featured.url, LEGACY[1]) as client, client.listening() as stream:
        await client.request("logging/setLevel", {"level": "debug"})
        await told(featured, "page", client)
        await said(featured, "debug", words)
        assert await logged(stream, words, others=()) == message("debug", words)


async def test_in_json_only_mode_a_call_tells_it_on_the_sessions_own_stream(json_only: Fleet) -> None:
    async with connected(json_only.url, LATEST_HANDSHAKE) as client, client.listening() as stream:
        assert (await client.call("visited", page="from-the-call")).notifications == []
        assert await completed(stream) == "from-the-call"


async def test_in_json_only_mode_messages_of_no_request_are_told_and_those_of_the_call_are_not(
    json_only: Fleet,
) -> None:
    words = secrets.token_hex(4)
    async with connected(json_only.url, LATEST_HANDSHAKE) as client, client.listening() as stream:
        await client.request("logging/setLevel", {"level": "debug"})
        assert (await client.call("aside", words=words)).notifications == []
        await said(json_only, "error", words)
        assert await logged(stream, words) == message("error", words)


@pytest.mark.parametrize("date", LEGACY)
async def test_on_the_oldest_transport_they_come_like_everything_else(paired: Fleet, date: str) -> None:
    """In the revision that was agreed on, which this transport learns only when its stream is open already."""
    words = secrets.token_hex(4)
    async with opened(paired.balancer.url) as pair:
        await pair.shake_hands(date)
        await pair.call("whose", as_id="whose")
        session = await pair.text("whose")
        await pair.request("logging/setLevel", {"level": "info"}, as_id="level")
        assert (await pair.answer("level"))["result"] == {}
        async with connected(paired.url, MODERN) as client:
            assert (await client.call("visited", page=words, session=session)).status == 200
        await said(paired, "error", words)
        heard = [await pair.message() for _ in range(1 + (date == LATEST_HANDSHAKE))]
        assert heard[-1] is not None
        assert heard[-1]["params"] == message("error", words)
        if date == LATEST_HANDSHAKE:
            assert heard[0] is not None
            assert (heard[0]["method"], heard[0]["params"]) == (COMPLETE, {"elicitationId": words})


def message(level: str, words: str) -> Json:
    return {"level": level, "data": {"words": words}, "logger": "fleet"}


async def said(fleet: Fleet, level: str, words: str) -> None:
    """Have some process log it."""
    async with connected(fleet.url, MODERN) as client:
        answer = await client.call("broadcast", level=level, words=words)
        assert (answer.status, answer.notifications) == (200, [])


async def told(fleet: Fleet, page: str, whom: Client) -> None:
    """Have some process tell a session that a page is done."""
    async with connected(fleet.url, MODERN) as client:
        assert (await client.call("visited", page=page, session=whom.session_id)).status == 200


async def logged(stream: Stream, words: str, others: tuple[str, ...] | None = None) -> Json:
    """The parameters of the next log message with these words; `others` may come before it (None: anything)."""
    while (heard := await stream.message()) is not None:
        if heard["method"] == "notifications/message" and heard["params"]["data"] == {"words": words}:
            params: Json = heard["params"]
            return params
        assert others is None or heard["method"] in others, heard
    raise AssertionError("the stream has ended")


async def completed(stream: Stream) -> str:
    """The next elicitation that is said to be done."""
    while (heard := await stream.message()) is not None:
        if heard["method"] == COMPLETE:
            page: str = heard["params"]["elicitationId"]
            return page
    raise AssertionError("the stream has ended")
