"""Questions while processes die: an answer that nobody can use is refused, and the call ends."""

import time
from statistics import median
from typing import Final

import httpx2
import pytest

from mcpfleet.backplane.replies import ANSWER_TTL
from tests.answer import Json
from tests.fleets import Launch
from tests.redis_server import connect
from tests.wire import LATEST_HANDSHAKE, Client, Stream, connected

SERVER: Final = "tests.servers.inquisitive:server"
LEASE: Final = 1.0
QUESTIONS: Final = 21
RESUME_SECONDS: Final = 0.1
"""Within this time, usually, an answer has resumed whoever asked."""
ABLE: Final[Json] = {"elicitation": {}}


async def asked(stream: Stream) -> Json:
    while (message := await stream.message()) is not None:
        if message.get("method") == "elicitation/create":
            return message
    raise AssertionError("the stream ended without a question")


async def test_an_answer_that_another_process_took_resumes_its_asker_within_the_promised_time(
    launch_fleet: Launch,
) -> None:
    """From the answer's POST to the call's result at the client, the median of many."""
    fleet = launch_fleet(2, server=SERVER)
    async with connected(fleet.url, LATEST_HANDSHAKE, capabilities=ABLE) as client:
        took = []
        for turn in range(QUESTIONS):
            async with client.calling("greet", as_id=turn, pin=0) as stream:
                question = await asked(stream)
                answered = time.monotonic()
                assert (await client.answer(question["id"], {"action": "decline"}, pin=1)).status == 202
                assert (await stream.message()) is not None
                took.append(time.monotonic() - answered)
    usual = median(took)
    assert usual <= RESUME_SECONDS, f"{usual * 1000:.0f} ms, {(RESUME_SECONDS - usual) * 1000:+.0f} ms to the promised"


@pytest.mark.parametrize(("timeout", "seconds"), [(None, 600.0), (20.0, 20.0)])
async def test_a_question_is_kept_for_ten_minutes_unless_it_says_otherwise(
    launch_fleet: Launch, timeout: float | None, seconds: float
) -> None:
    fleet = launch_fleet(2, server=SERVER)
    async with (
        connected(fleet.url, LATEST_HANDSHAKE, capabilities=ABLE) as client,
        client.calling("greet", timeout=timeout) as stream,
    ):
        await asked(stream)
        with connect(fleet.redis_url) as redis:
            lives = [redis.pttl(key) / 1000 for key in fleet.stored_keys() if b"/q/" in key]
    assert lives
    assert all(seconds - 10 < life - ANSWER_TTL <= seconds for life in lives)


async def test_once_the_asker_is_dead_an_answer_is_refused_within_the_lease_time(launch_fleet: Launch) -> None:
    """JSON-RPC 2.0: nobody is told that an answer was taken which nobody can use; and the call has an end."""
    fleet = launch_fleet(2, server=SERVER, LEASE_SECONDS=str(LEASE))
    async with connected(fleet.url, LATEST_HANDSHAKE, capabilities=ABLE) as client:
        async with client.calling("greet", as_id="lost", pin=0) as stream:
            question = await asked(stream)
            fleet.processes[0].kill()
            with pytest.raises(httpx2.RemoteProtocolError):
                await stream.answer()
        died = time.monotonic()
        ended = await client.resume(stream.last_event_id, pin=1)
        assert ended.error["data"]["reason"] == "outcome_unknown"
        await refused(client, question["id"])
        assert time.monotonic() - died < 10 * LEASE


async def test_an_answer_survives_the_death_of_the_process_that_took_it(launch_fleet: Launch) -> None:
    fleet = launch_fleet(3, server=SERVER)
    async with (
        connected(fleet.url, LATEST_HANDSHAKE, capabilities=ABLE) as client,
        client.calling("greet", pin=0) as stream,
    ):
        question = await asked(stream)
        assert (await client.answer(question["id"], {"action": "decline"}, pin=1)).status == 202
        fleet.processes[1].kill()
        assert (await stream.answer()).replies[-1]["result"]["content"][0]["text"] == "declined"
        assert (await client.answer(question["id"], {"action": "decline"}, pin=2)).status == 202


async def test_a_draining_process_withdraws_what_it_has_asked(launch_fleet: Launch) -> None:
    """A question that nobody will wait for any more is cancelled before the call ends."""
    fleet = launch_fleet(2, server=SERVER, DRAIN_SECONDS="0")
    async with (
        connected(fleet.url, LATEST_HANDSHAKE, capabilities=ABLE) as client,
        client.calling("greet", pin=0) as stream,
    ):
        question = await asked(stream)
        fleet.processes[0].terminate()
        answer = await stream.answer()
        [cancelled] = [each for each in answer.notifications if each["method"] == "notifications/cancelled"]
        assert cancelled["params"]["requestId"] == question["id"]
        assert answer.replies[-1]["error"]["data"]["reason"] == "server_stopped"
        assert fleet.processes[0].await_exit() == 0
        await refused(client, question["id"])


async def refused(client: Client, request_id: str) -> None:
    answer = await client.answer(request_id, {"action": "decline"}, pin=1)
    assert answer.status == 400
    assert answer.error["data"]["reason"] == "nobody_asked"
