"""A session is for the web page that opened it (Security Best Practices, "Session Hijacking"; a measure in depth)."""

import pytest

from tests.fleets import Fleet, Launch
from tests.pair import opened
from tests.wire import LATEST_HANDSHAKE, MODERN, Client, connected

ONE, OTHER = "https://one.example", "https://other.example"
SETTINGS = {"ALLOWED_ORIGINS": f"{ONE},{OTHER}", "SSE": "true"}


@pytest.fixture(scope="module")
def pages(launch_for_module: Launch) -> Fleet:
    """Two processes that serve two pages."""
    return launch_for_module(2, **SETTINGS)


async def verdicts(client: Client, origin: str | None) -> list[int]:
    """How each kind of request of the session is answered when a page of this origin sends it, the deadly one last."""
    headers = {"Origin": origin}
    message = '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}'
    statuses = [
        (await client.request("tools/list", headers=headers)).status,
        (await client.send("POST", message, headers=headers)).status,
    ]
    async with client.opened("GET", headers=headers) as stream:
        statuses.append(stream.status)
    return [*statuses, (await client.send("DELETE", headers=headers)).status]


async def test_another_page_finds_no_session_and_harms_none(pages: Fleet) -> None:
    async with connected(pages.url, LATEST_HANDSHAKE, headers={"Origin": ONE}) as client:
        assert await verdicts(client, OTHER) == [404, 404, 404, 404]
        assert (await client.call("echo", x="lives")).text == "lives"


@pytest.mark.parametrize("origin", [ONE, ONE.upper(), None])
async def test_the_page_itself_and_whoever_is_no_page_go_on(pages: Fleet, origin: str | None) -> None:
    async with connected(pages.url, LATEST_HANDSHAKE, headers={"Origin": ONE}) as client:
        assert await verdicts(client, origin) == [200, 202, 200, 204]


async def test_what_no_page_has_opened_any_page_may_use(pages: Fleet) -> None:
    async with connected(pages.url, LATEST_HANDSHAKE) as client:
        assert await verdicts(client, ONE) == [200, 202, 200, 204]


async def test_a_modern_client_has_nothing_that_could_belong_to_a_page(pages: Fleet) -> None:
    for origin in (ONE, OTHER):
        async with connected(pages.url, MODERN, headers={"Origin": origin}) as client:
            assert (await client.call("echo", x=origin)).text == origin


async def test_the_oldest_transport_keeps_to_it_too(pages: Fleet) -> None:
    ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    async with opened(pages.balancer.url, headers={"Origin": ONE}) as pair:
        assert (await pair.post(ping, headers={"Origin": OTHER})).status == 404
        assert (await pair.post(ping, headers={"Origin": ONE})).status == 202
        assert (await pair.answer(1))["result"] == {}
