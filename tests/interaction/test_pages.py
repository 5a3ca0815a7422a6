"""Pages for the user, in every revision that has them ("Elicitation", section "URL Mode Elicitation Requests")."""

import pytest

from tests.fleets import Fleet
from tests.interaction.test_questions import ABLE, asked
from tests.interaction.test_rounds import only_key, retry
from tests.wire import LATEST_HANDSHAKE, LEGACY, MODERN, connected


async def test_a_legacy_client_is_sent_to_a_page_and_told_when_it_is_done(asking_fleet: Fleet) -> None:
    """Elicitation 2025-11-25, "URL Mode Elicitation Requests" and "Completion Notifications for URL Mode
    Elicitation"."""
    async with (
        connected(asking_fleet.url, LATEST_HANDSHAKE, capabilities=ABLE) as client,
        client.calling("pay") as stream,
    ):
        question = await asked(stream)
        assert question["params"] == {
            "mode": "url",
            "message": "Pay, please",
            "url": "https://example.com/pay",
            "elicitationId": "e-1",
        }
        await client.answer(question["id"], {"action": "accept"})
        answer = await stream.answer()
        [done] = [each for each in answer.notifications if each["method"] == "notifications/elicitation/complete"]
        assert done["params"] == {"elicitationId": "e-1"}
        assert answer.replies[-1]["result"]["content"][0]["text"] == "accept"


async def test_a_modern_client_is_sent_to_a_page_without_an_id_and_hears_no_more_of_it(asking_fleet: Fleet) -> None:
    """Elicitation 2026-07-28, "URL Mode Elicitation Requests"."""
    async with connected(asking_fleet.url, MODERN, capabilities=ABLE) as client:
        page = await client.call("pay")
        assert page.result["inputRequests"][only_key(page)]["params"] == {
            "mode": "url",
            "message": "Pay, please",
            "url": "https://example.com/pay",
        }
        done = await retry(client, "pay", page, {only_key(page): {"action": "accept"}})
        assert (done.text, done.notifications) == ("accept", [])


async def test_the_error_that_demands_a_visit_is_of_one_revision(asking_fleet: Fleet) -> None:
    """Elicitation 2025-11-25, "URL Elicitation Required Error"."""
    async with connected(asking_fleet.url, LATEST_HANDSHAKE, capabilities=ABLE) as client:
        error = (await client.call("connect")).error
        assert error["code"] == -32042
        [page] = error["data"]["elicitations"]
        assert page.pop("elicitationId")
        assert page == {"mode": "url", "message": "Sign in", "url": "https://example.com/connect"}


@pytest.mark.parametrize("date", [date for date in LEGACY if date != LATEST_HANDSHAKE])
async def test_older_clients_are_told_what_they_lack(asking_fleet: Fleet, date: str) -> None:
    """Lifecycle, "Operation": only what was negotiated is used."""
    async with connected(asking_fleet.url, date, capabilities=ABLE) as client:
        for tool in ("connect", "pay"):
            error = (await client.call(tool)).error
            assert (error["code"], error["data"]) == (-32600, {"requiredCapabilities": {"elicitation": {"url": {}}}})


@pytest.mark.parametrize("date", [LATEST_HANDSHAKE, MODERN])
async def test_a_client_that_takes_forms_only_is_sent_nowhere(asking_fleet: Fleet, date: str) -> None:
    """Elicitation, "Capabilities": servers MUST NOT send modes that the client does not support."""
    async with connected(asking_fleet.url, date, capabilities={"elicitation": {}}) as client:
        for tool in ("connect", "pay"):
            error = (await client.call(tool)).error
            assert error["code"] == (-32021 if date == MODERN else -32600)
            assert error["data"] == {"requiredCapabilities": {"elicitation": {"url": {}}}}


async def test_a_modern_client_is_asked_for_the_visit_and_a_user_who_declines_is_not_asked_for_ever(
    asking_fleet: Fleet,
) -> None:
    """Elicitation 2026-07-28, "Response Actions"."""
    async with connected(asking_fleet.url, MODERN, capabilities=ABLE) as client:
        page = await client.call("connect")
        request = page.result["inputRequests"][only_key(page)]
        assert request["params"] == {"mode": "url", "message": "Sign in", "url": "https://example.com/connect"}
        assert (await retry(client, "connect", page, {only_key(page): {"action": "accept"}})).text == "connected"
        declined = await retry(client, "connect", page, {only_key(page): {"action": "decline"}})
        assert (declined.status, declined.error["data"]) == (400, {"reason": "declined"})
