"""With authentication: what one party made is not there for any other (Transports, "Session Management")."""

import asyncio
import secrets

import pytest

from tests.fleets import Fleet
from tests.wire import LATEST_HANDSHAKE, LEGACY, MODERN, Client, connected

every_legacy = pytest.mark.parametrize("date", LEGACY)
OTHERS = pytest.mark.parametrize("token", ["bob", "other-alice", "alice-by-another-client"])


@every_legacy
@OTHERS
async def test_another_partys_session_is_not_there(guarded: Fleet, date: str, token: str) -> None:
    """Transports, "Session Management": 404 for all that is not one's own, which tells nobody that it exists."""
    tag = secrets.token_hex(4)
    async with (
        connected(guarded.url, date, headers=shown("alice-1")) as alice,
        Client(guarded.url, date, shown(token)) as other,
        alice.calling("count", as_id=7, token="t", n=20, delay=0.03) as call,
    ):
        assert await call.message() is not None
        other.session_id = alice.session_id
        refused = [
            await other.call("whoami", as_id=7),
            await other.notify("notifications/initialized"),
            await other.cancel(7),
            await other.answer("ask-0123456789abcdef-0123456789abcdef", {"action": "accept"}),
            await other.request("logging/setLevel", {"level": "debug"}),
            await other.resume(call.last_event_id),
            await other.end(),
        ]
        async with other.listening() as stream:
            refused.append(await stream.answer())
        assert [answer.status for answer in refused] == [404] * len(refused)
        assert {answer.error["data"]["reason"] for answer in refused} == {"session_not_found"}
        assert (await call.answer()).text == "20"
        assert (await alice.call("echo", x=tag)).text == tag


@every_legacy
async def test_a_refreshed_token_of_the_same_party_keeps_its_session(guarded: Fleet, date: str) -> None:
    """Transports, "Session Management": the session belongs to the party, and not to its first token."""
    async with (
        connected(guarded.url, date, headers=shown("alice-1")) as before,
        Client(guarded.url, date, shown("alice-2")) as after,
    ):
        after.session_id = before.session_id
        for _ in range(3):
            told = [(await client.call("whoami")).value for client in (before, after)]
            assert [(each["session"], each["principal"]) for each in told] == [(before.session_id, "alice")] * 2
        assert (await after.end()).status == 204
        assert (await before.call("whoami")).status == 404


@pytest.mark.parametrize("date", [LATEST_HANDSHAKE, MODERN])
async def test_parties_that_ask_at_once_are_told_apart(guarded: Fleet, date: str) -> None:
    """Elicitation, "Identifying the User": a tool sees who sent this very request, whatever the client says."""

    async def one(token: str) -> list[str]:
        async with connected(guarded.url, date, headers=shown(token)) as client:
            answers = await asyncio.gather(*(client.call("whoami", as_id=1) for _ in range(6)))
            return [answer.value["principal"] for answer in answers]

    told = await asyncio.gather(*(one(token) for token in ("alice-1", "bob", "other-alice")))
    assert told == [["alice"] * 6, ["bob"] * 6, ["alice"] * 6]


@pytest.mark.parametrize("headers", [{}, {"Authorization": "Bearer stolen"}, {"Authorization": "Basic alice-1"}])
async def test_who_is_unknown_is_refused_and_nothing_is_made_for_them(guarded: Fleet, headers: dict[str, str]) -> None:
    """Authorization, "Error Handling": 401 with a challenge."""
    async with (
        Client(guarded.url, LATEST_HANDSHAKE, headers) as legacy,
        connected(guarded.url, MODERN, headers=headers) as modern,
    ):
        before = guarded.stored_keys()
        refused = [await legacy.initialize(), await legacy.end(), await modern.call("whoami")]
        assert guarded.stored_keys() <= before
    assert [answer.status for answer in refused] == [401] * 3
    assert {answer.headers["WWW-Authenticate"] for answer in refused} == {"Bearer"}
    assert not any("Mcp-Session-Id" in answer.headers for answer in refused)


@every_legacy
async def test_every_request_of_a_session_is_authorized_by_itself(guarded: Fleet, date: str) -> None:
    """Authorization, "Token Requirements": a session id stands for nobody."""
    async with (
        connected(guarded.url, date, headers=shown("alice-1")) as alice,
        Client(guarded.url, date) as bare,
    ):
        bare.session_id = alice.session_id
        refused = [
            await bare.call("whoami"),
            await bare.notify("notifications/initialized"),
            await bare.cancel(1),
            await bare.end(),
        ]
        async with bare.listening() as stream:
            refused.append(await stream.answer())
        assert [answer.status for answer in refused] == [401] * len(refused)
        assert (await alice.call("whoami")).value["session"] == alice.session_id


def shown(token: str) -> dict[str, str]:
    """The header that shows this token."""
    return {"Authorization": f"Bearer {token}"}
