"""Methods of the author's own, in every revision (JSON-RPC 2.0; "Overview", section "Messages")."""

import pytest

from tests.fleets import Fleet
from tests.wire import EVERY, MODERN, connected

every_revision = pytest.mark.parametrize("date", EVERY)


@every_revision
async def test_a_method_of_the_authors_own_is_called_like_any_other(fleet: Fleet, date: str) -> None:
    async with connected(fleet.url, date) as client:
        result = (await client.request("acme/add", {"a": 2, "b": 2**63})).result
        assert (result["sum"], result["revision"]) == (2**63 + 2, date)
        assert result.get("resultType") == ("complete" if date == MODERN else None)
        assert (await client.request("acme/length", {"text": "häü"})).result["result"] == 3


@every_revision
async def test_its_params_are_checked_and_an_unknown_method_is_unknown(fleet: Fleet, date: str) -> None:
    async with connected(fleet.url, date) as client:
        answer = await client.request("acme/add", {"a": "2", "b": 1}, as_id="m")
        assert (answer.error["code"], answer.error["message"]) == (-32602, "a: Expected int, got str")
        assert (answer.status, answer.reply["id"]) == (400 if date == MODERN else 200, "m")
        answer = await client.request("acme/subtract", {"a": 1, "b": 1}, as_id="m")
        assert answer.error["code"] == -32601
        assert answer.status == (404 if date == MODERN else 200)
