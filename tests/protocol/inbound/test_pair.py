"""The door of the oldest transport's two endpoints."""

from typing import Any

import pytest

from mcpfleet.protocol.headers import Headers
from mcpfleet.protocol.inbound import (
    Limits,
    PairMessage,
    PairStream,
    Rejected,
    classify_pair_message,
    classify_pair_stream,
)
from mcpfleet.protocol.jsonrpc import INVALID_REQUEST, PARSE_ERROR, Batch, Request
from tests.protocol.inbound.posts import POST, headers, request


def streamed(method: str = "GET", accept: str | None = None) -> PairStream | Rejected:
    return classify_pair_stream(method, headers({}, Accept=accept), "/messages")


def posted(body: bytes, session: str | None = "s", given: Headers | None = None, **limits: Any) -> Any:
    return classify_pair_message("POST", given or headers(POST), session, body, Limits(**limits))


@pytest.mark.parametrize("accept", [None, "*/*", "text/event-stream", "text/event-stream, application/json"])
def test_whoever_takes_a_stream_gets_one(accept: str | None) -> None:
    assert streamed(accept=accept) == PairStream("/messages")


def test_who_takes_no_stream_is_406() -> None:
    rejected = streamed(accept="application/json")
    assert isinstance(rejected, Rejected)
    assert (rejected.status, rejected.data) == (406, {"reason": "accept"})


def test_each_endpoint_has_one_method() -> None:
    """Transports 2024-11-05, "HTTP with SSE"; 405 is also what a client of a later transport looks for."""
    for rejected, allowed in [
        (streamed("POST"), "GET"),
        (classify_pair_message("GET", headers(POST), "s", b"", Limits()), "POST"),
    ]:
        assert isinstance(rejected, Rejected)
        assert (rejected.status, rejected.headers) == (405, (("Allow", allowed),))


def test_a_message_is_of_the_session_in_its_address() -> None:
    assert posted(request("ping")) == PairMessage("s", Request(1, "ping"))


def test_a_message_without_a_session_is_refused() -> None:
    assert posted(request("ping"), session=None).data == {"reason": "session_required"}


def test_a_message_of_another_media_type_is_415() -> None:
    assert posted(request("ping"), given=headers({"Content-Type": "text/plain"})).status == 415
    two = Headers([(b"content-type", b"application/json"), (b"content-type", b"text/plain")])
    assert posted(request("ping"), given=two).status == 415


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"{", PARSE_ERROR),
        (b"7", INVALID_REQUEST),
        (b"[]", INVALID_REQUEST),
        (b"[" + b",".join([b"7"] * 101) + b"]", INVALID_REQUEST),
        (b'[{"jsonrpc":"2.0","id":1,"method":"initialize"}]', INVALID_REQUEST),
    ],
)
def test_what_is_no_message_and_no_batch_is_refused(body: bytes, code: int) -> None:
    rejected = posted(body)
    assert (rejected.status, rejected.code) == (400, code)


def test_a_batch_is_kept_where_the_session_may_have_them() -> None:
    """JSON-RPC 2.0, section 6; whether its revision has batches is known to the session."""
    assert posted(b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]') == PairMessage("s", Batch((Request(1, "ping"),)))


def test_limits_are_the_operators() -> None:
    assert posted(request("ping", deep={"er": {}}), max_depth=2).code == INVALID_REQUEST
    assert posted(request("ping", deep={"er": {}}), max_values=3).code == INVALID_REQUEST
