"""From an outcome to bytes, whatever a tool has put into it."""

import json
import math
from typing import Any

import pytest

from mcpfleet.protocol.messages.content import TextContent
from mcpfleet.protocol.messages.tools import CallToolResult
from mcpfleet.protocol.revisions import LATEST, LATEST_LEGACY, REVISIONS, Era, Revision
from mcpfleet.protocol.wire import CacheHint
from mcpfleet.server.outcome import Refusal, Success
from mcpfleet.server.reply import Replies

REPLIES = Replies({"name": "s", "version": "1"})
EVERY = pytest.mark.parametrize("revision", REVISIONS, ids=lambda revision: revision.date)


def encoded(outcome: Success | Refusal, revision: Revision = LATEST, request_id: str | int = 1) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(REPLIES.encode(request_id, outcome, revision))
    return found


@EVERY
def test_a_result_is_stamped_where_the_revision_has_it_so(revision: Revision) -> None:
    result = encoded(Success({"x": 1}, CacheHint(ttl=2.5)), revision)["result"]
    if revision.era is Era.LEGACY:
        assert result == {"x": 1}
    else:
        assert (result["x"], result["resultType"], result["ttlMs"], result["cacheScope"]) == (
            1,
            "complete",
            2500,
            "private",
        )
        assert result["_meta"] == {"io.modelcontextprotocol/serverInfo": {"name": "s", "version": "1"}}


@EVERY
def test_a_refusal_is_an_error_with_the_code_that_the_revision_has_for_it(revision: Revision) -> None:
    code = -32021 if revision.era is Era.MODERN else -32600
    assert encoded(Refusal(-32021, "no", {"a": 1}), revision) == {
        "jsonrpc": "2.0",
        "id": 1,
        "error": {"code": code, "message": "no", "data": {"a": 1}},
    }


@pytest.mark.parametrize("request_id", [0, "", "1", 10**40, "ä\u2028"])
def test_a_request_id_comes_back_as_it_was(request_id: str | int) -> None:
    for outcome in (Success({}), Refusal(-1, "no")):
        found = encoded(outcome, LATEST_LEGACY, request_id)["id"]
        assert (type(found), found) == (type(request_id), request_id)


@EVERY
@pytest.mark.parametrize(
    "outcome",
    [
        Success({"x": math.nan}),
        Success({"x": object()}),
        Success(CallToolResult(content=(object(),))),  # type: ignore[arg-type]  # what a careless tool may build
        Success(CallToolResult(content=(TextContent("x"),), structured_content=object())),
        Refusal(-1, "no", object()),
    ],
)
def test_what_cannot_be_written_becomes_an_internal_error_that_is_logged(
    outcome: Success | Refusal, revision: Revision, caplog: pytest.LogCaptureFixture
) -> None:
    error = encoded(outcome, revision, "mine")
    assert error["id"] == "mine"
    assert (error["error"]["code"], error["error"]["message"]) == (-32603, "Internal error")
    assert error["error"]["data"]["correlationId"] in caplog.text
