"""Request ids are the client's own: echoed in kind, never a key to anything ("Overview", section "Requests")."""

import asyncio

import pytest

from tests.answer import Answer
from tests.fleets import Fleet, Shape
from tests.wire import EVERY, LATEST_HANDSHAKE, LEGACY, RequestId, connected

THREE = pytest.mark.parametrize("fleet", [Shape("redis", 3)], indirect=True, ids=str)
IDS: tuple[RequestId, ...] = (0, 1, -7, 2**53 + 1, 2**63, 10**40, "", "1", " ", "null", "ä\u2028😀", "x" * 1000)


def told_apart(given: RequestId) -> tuple[str, RequestId]:
    return type(given).__name__, given


@pytest.mark.parametrize("date", EVERY)
async def test_an_id_comes_back_as_it_was_sent(fleet: Fleet, date: str) -> None:
    """Overview, "Requests" and "Responses": string or integer, and the response has the same."""
    async with connected(fleet.url, date) as client:
        for given in IDS:
            answers = [
                await client.call("echo", as_id=given, x="result"),
                await client.request("tools/list", as_id=given),
                await client.request("no/such/method", as_id=given),
            ]
            assert [told_apart(answer.reply["id"]) for answer in answers] == [told_apart(given)] * 3


@pytest.mark.parametrize("date", EVERY)
async def test_an_id_comes_back_as_it_was_sent_when_the_response_is_a_stream(fleet: Fleet, date: str) -> None:
    """Overview, "Responses"."""
    async with connected(fleet.url, date) as client:
        answers = await asyncio.gather(*(client.call("count", as_id=given, token=0, n=1) for given in IDS))
    assert [told_apart(answer.reply["id"]) for answer in answers] == [told_apart(given) for given in IDS]
    assert all(answer.is_stream for answer in answers)


@THREE
@pytest.mark.parametrize("date", LEGACY)
async def test_twelve_calls_with_one_id_on_two_processes_each_get_their_own_answer(fleet: Fleet, date: str) -> None:
    """Transports, "Sending Messages to the Server": the response belongs to the POST, whatever its id; some hosted
    clients send all of theirs as 1 over one pooled session."""

    async def one(turn: int) -> Answer:
        given: RequestId = 1 if turn % 4 < 2 else "1"
        if turn % 3 == 0:
            return await client.call("slow", as_id=given, pin=turn % 2, seconds=0.6, tag=str(turn))
        if turn % 3 == 1:
            return await client.call("echo", as_id=given, pin=turn % 2, x=str(turn))
        return await client.call("count", as_id=given, pin=turn % 2, token=turn, n=turn, delay=0.03)

    async with connected(fleet.url, date) as client:
        answers = await asyncio.gather(*(one(turn) for turn in range(12)))
    assert [answer.text for answer in answers] == [str(turn) for turn in range(12)]
    assert [told_apart(answer.reply["id"]) for answer in answers] == [
        told_apart(1 if turn % 4 < 2 else "1") for turn in range(12)
    ]
    assert [answer.process for answer in answers] == [turn % 2 for turn in range(12)]
    for turn in range(2, 12, 3):
        tokens = {notification["params"]["progressToken"] for notification in answers[turn].notifications}
        assert tokens == {turn}


@THREE
async def test_a_quick_call_does_not_wait_for_a_slow_one_of_the_same_id(fleet: Fleet) -> None:
    """Transports, "Sending Messages to the Server"."""
    async with (
        connected(fleet.url, LATEST_HANDSHAKE) as client,
        client.calling("slow", as_id=1, pin=0, seconds=30, tag="a") as slow,
    ):
        assert await slow.event() is not None
        assert (await client.call("echo", as_id=1, pin=1, x="b")).text == "b"
        assert (await client.cancel(1, pin=2)).status == 202
        assert (await slow.answer()).replies == []
