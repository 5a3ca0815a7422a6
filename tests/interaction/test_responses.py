"""What a POST is answered with: one JSON object or a stream, and what goes before the result on it."""

import asyncio

import pytest

from tests.answer import Json
from tests.fleets import Fleet, Launch
from tests.wire import EVERY, LATEST_HANDSHAKE, LEGACY, MODERN, Client, RequestId, connected

every_revision = pytest.mark.parametrize("date", EVERY)
every_legacy = pytest.mark.parametrize("date", LEGACY)
LOG_LEVEL = "io.modelcontextprotocol/logLevel"


@every_legacy
async def test_a_call_that_lasts_is_answered_as_a_stream(fleet: Fleet, date: str) -> None:
    """Transports, "Sending Messages to the Server": the server may answer a request with either."""
    async with connected(fleet.url, date) as client:
        answer = await client.call("slow", as_id="s", seconds=0.5, tag="done")
    assert answer.is_stream
    assert answer.headers["Cache-Control"] == "no-cache, no-transform"
    assert answer.headers["X-Accel-Buffering"] == "no"
    assert (answer.text, answer.reply["id"]) == ("done", "s")
    assert answer.messages == [answer.reply]


async def test_a_call_that_has_nothing_to_say_before_its_result_is_answered_as_json(launch_fleet: Launch) -> None:
    """Transports, "Sending Messages to the Server"; the bound on its duration is out of the way here."""
    fleet = launch_fleet(1, SSE_AFTER_MS="60000")
    for date in EVERY:
        async with connected(fleet.url, date) as client:
            answers = [await client.call("slow", seconds=0.3, tag="done"), await client.request("tools/list")]
            spoke = await client.call("count", n=1, token="t")
        assert [answer.headers["Content-Type"] for answer in answers] == ["application/json"] * 2
        assert answers[0].text == "done"
        assert spoke.is_stream


@every_legacy
async def test_only_the_latest_legacy_revision_gets_a_priming_event(fleet: Fleet, date: str) -> None:
    """Transports 2025-11-25, "Sending Messages to the Server": an event with an id and empty data comes first; a client
    of an older revision would parse the empty data."""
    async with connected(fleet.url, date) as client:
        answer = await client.call("count", n=2, token="t")
    assert answer.body.startswith(b":"), "a comment goes out at once, for proxies that wait for a first byte"
    empty = [event for event in answer.events if not event.data]
    if date == LATEST_HANDSHAKE:
        assert empty == answer.events[:1]
        assert empty[0].data == b""
    else:
        assert empty == []


@every_legacy
async def test_every_event_of_a_legacy_stream_has_an_id_of_its_own(fleet: Fleet, date: str) -> None:
    """Transports, "Resumability and Redelivery": unique in the session, whichever stream it is on."""
    async with connected(fleet.url, date) as client, client.listening() as listening:
        streams = [await client.call("count", as_id=1, n=5, token="t"), await client.call("slow", as_id=1, seconds=0.4)]
        for what in ("tools", "prompts", "tools"):
            await client.call("announce", what=what)
            assert await listening.message() is not None
    ids = [event.id for stream in streams for event in stream.events] + [event.id for event in listening.events]
    assert None not in ids
    assert len(set(ids)) == len(ids)


async def test_no_event_of_a_modern_stream_has_an_id(fleet: Fleet) -> None:
    """Streamable HTTP 2026-07-28, "Receiving Messages": a response is not resumable, so nothing says where it
    could be resumed."""
    async with connected(fleet.url, MODERN) as client:
        answer = await client.call("count", n=3, token="t")
    assert answer.is_stream
    assert [event.id for event in answer.events] == [None] * len(answer.events)


@every_revision
async def test_a_client_that_takes_only_json_gets_the_result_alone(fleet: Fleet, date: str) -> None:
    """Transports, "Sending Messages to the Server": no stream for who does not accept one, so nothing before the
    result either."""
    async with connected(fleet.url, date, headers={"Accept": "application/json"}) as client:
        answer = await client.call("count", n=3, token="t", delay=0.15)
    assert answer.headers["Content-Type"] == "application/json"
    assert answer.messages == [answer.reply]
    assert answer.text == "3"


@every_revision
async def test_a_client_that_takes_only_streams_gets_one_for_everything(fleet: Fleet, date: str) -> None:
    """Transports, "Sending Messages to the Server"."""
    async with connected(fleet.url, date, headers={"Accept": "text/event-stream"}) as client:
        answers = [await client.call("echo", x="hi"), await client.request("tools/list")]
    assert all(answer.is_stream for answer in answers)
    assert answers[0].text == "hi"


@every_revision
async def test_progress_goes_on_the_stream_of_its_call_and_ends_before_the_result(fleet: Fleet, date: str) -> None:
    """Progress, "Progress Flow": the token as it was sent, values that increase, nothing after the response."""
    tokens: list[RequestId] = [0, "", "t", 2**70, 7]
    async with connected(fleet.url, date) as client:
        answers = await asyncio.gather(*(client.call("count", n=4, token=token, delay=0.02) for token in tokens))
    for token, answer in zip(tokens, answers, strict=True):
        assert answer.messages[-1] == answer.reply
        assert {notification["method"] for notification in answer.notifications} == {"notifications/progress"}
        told = [notification["params"] for notification in answer.notifications]
        assert {(type(params["progressToken"]), params["progressToken"]) for params in told} == {(type(token), token)}
        values = [params["progress"] for params in told]
        assert values == sorted(set(values))
        assert values[-1] == 4
        assert {params["total"] for params in told} == {4}
        assert {"message" in params for params in told} == {date != "2024-11-05"}


@every_revision
async def test_without_a_token_no_progress_is_sent(fleet: Fleet, date: str) -> None:
    """Progress, "Progress Flow": a token is how a client asks for progress."""
    async with connected(fleet.url, date) as client:
        answer = await client.call("count", n=3, delay=0.15)
    assert answer.messages == [answer.reply]


@every_revision
async def test_a_token_of_another_kind_is_refused(fleet: Fleet, date: str) -> None:
    """Progress, "Progress Flow": a string or an integer; null counts as none."""
    async with connected(fleet.url, date) as client:
        wrong: list[object] = [True, 1.5, [], {}]
        for token in wrong:
            params = {"name": "count", "arguments": {"n": 1}, "_meta": {"progressToken": token}}
            refused = await client.request("tools/call", params, as_id="r")
            assert (refused.status, refused.error["code"], refused.reply["id"]) == (400, -32602, "r")
        served = await client.request(
            "tools/call", {"name": "count", "arguments": {"n": 1}, "_meta": {"progressToken": None}}
        )
        assert served.notifications == []
        assert served.text == "1"


@every_legacy
async def test_a_log_level_set_on_one_process_counts_on_every_other(fleet: Fleet, date: str) -> None:
    """Logging, "Setting Log Level"."""
    async with connected(fleet.url, date) as client:
        assert await logged(client) == []
        for level, expected in [("info", [1, 2]), ("warning", []), ("debug", [1, 2])]:
            assert (await client.request("logging/setLevel", {"level": level})).result == {}
            for _ in fleet.processes:
                assert await logged(client) == expected


@every_legacy
async def test_a_level_that_is_none_is_refused_and_changes_nothing(fleet: Fleet, date: str) -> None:
    """Logging, "Error Handling": -32602."""
    async with connected(fleet.url, date) as client:
        await client.request("logging/setLevel", {"level": "info"})
        for params in ({}, {"level": "loud"}, {"level": 3}, {"level": None}):
            assert (await client.request("logging/setLevel", params, as_id="bad")).error["code"] == -32602
        assert await logged(client) == [1, 2]


async def test_a_modern_request_asks_for_its_own_log_messages(fleet: Fleet) -> None:
    """Overview 2026-07-28, "_meta": no message is sent for a request that names no level."""
    async with connected(fleet.url, MODERN) as client:
        assert await logged(client) == []
        assert await logged(client, {LOG_LEVEL: "info"}) == [1, 2]
        assert await logged(client, {LOG_LEVEL: "error"}) == []
        refused = await client.request("tools/list", {"_meta": {LOG_LEVEL: "loud"}})
    assert (refused.status, refused.error["code"]) == (400, -32602)


async def test_log_messages_go_nowhere_but_on_the_response_of_their_request(fleet: Fleet) -> None:
    """Logging 2026-07-28, "Per-request log level": not on a `subscriptions/listen` stream, nor on another request's."""
    listen: Json = {"notifications": {"toolsListChanged": True}, "_meta": {LOG_LEVEL: "debug"}}
    async with connected(fleet.url, MODERN) as client, client.asking("subscriptions/listen", listen) as listening:
        assert await listening.message() is not None
        other = asyncio.create_task(client.request("tools/call", slowly("other"), as_id="other"))
        assert await logged(client, {LOG_LEVEL: "debug"}) == [1, 2]
        assert (await other).messages == [(await other).reply]
        await client.call("announce", what="tools")
        told = await listening.message()
    assert told is not None
    assert told["method"] == "notifications/tools/list_changed"


def slowly(tag: str) -> Json:
    """A call that is under way for a while, and asks for every log message."""
    return {"name": "slow", "arguments": {"seconds": 0.5, "tag": tag}, "_meta": {LOG_LEVEL: "debug"}}


async def logged(client: Client, meta: dict[str, str] | None = None) -> list[int]:
    """What the tool `count` has logged on its way to 2."""
    params = {"name": "count", "arguments": {"n": 2}, "_meta": meta or {}}
    answer = await client.request("tools/call", params)
    assert answer.text == "2"
    told = [one["params"] for one in answer.notifications if one["method"] == "notifications/message"]
    assert all((params["level"], params["logger"]) == ("info", "count") for params in told)
    return [params["data"]["count"] for params in told]
