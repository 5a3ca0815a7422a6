"""The door of a transport without headers: the era of each message is in the message, or in the handshake before."""

from typing import Any

import pytest

from mcpfleet.protocol.inbound import (
    EarlyPing,
    Initialize,
    LegacyPost,
    ModernNotification,
    ModernRequest,
    Rejected,
    classify_line,
)
from mcpfleet.protocol.jsonrpc import (
    INVALID_PARAMS,
    INVALID_REQUEST,
    UNSUPPORTED_VERSION,
    Batch,
    ErrorObject,
    Failure,
    Notification,
    Reply,
    Request,
)
from mcpfleet.protocol.revisions import LATEST
from tests.protocol.inbound.posts import HELLO, LEGACY, META, MODERN, VERSION_KEY

HANDSHAKE = Request(1, "initialize", {**HELLO})
LEGACY_MESSAGES = [
    Request(1, "tools/list"),
    Notification("notifications/initialized"),
    Reply(1, {}),
    Failure(1, ErrorObject(1, "no")),
    Batch((Request(1, "ping"),)),
]


def refused(message: Any, session: str | None = None) -> Rejected:
    rejected = classify_line(message, session)
    assert isinstance(rejected, Rejected)
    return rejected


@pytest.mark.parametrize("session", [None, "s"])
@pytest.mark.parametrize("method", ["server/discover", "initialize", "tools/call"])
def test_a_request_with_a_version_is_modern_whatever_went_before(method: str, session: str | None) -> None:
    asked = classify_line(Request(1, method, {"_meta": META}), session)
    assert isinstance(asked, ModernRequest)
    assert asked.revision.date == MODERN


@pytest.mark.parametrize("version", ["1999-01-01", LEGACY])
def test_a_version_that_requests_cannot_name_is_refused(version: str) -> None:
    rejected = refused(Request(7, "tools/list", {"_meta": {**META, VERSION_KEY: version}}))
    assert (rejected.code, rejected.id) == (UNSUPPORTED_VERSION, 7)


def test_an_envelope_that_lacks_something_is_refused() -> None:
    rejected = refused(Request(7, "tools/list", {"_meta": {VERSION_KEY: MODERN}}))
    assert (rejected.code, rejected.id) == (INVALID_PARAMS, 7)


@pytest.mark.parametrize("session", [None, "s"])
def test_the_handshake_may_come_at_any_time(session: str | None) -> None:
    assert isinstance(classify_line(HANDSHAKE, session), Initialize)


def test_a_handshake_with_bad_parameters_is_refused() -> None:
    assert refused(Request(1, "initialize", {})).code == INVALID_PARAMS


@pytest.mark.parametrize("message", LEGACY_MESSAGES, ids=lambda message: type(message).__name__)
def test_all_else_belongs_to_the_session(message: Any) -> None:
    assert classify_line(message, "s") == LegacyPost("s", None, message)


def test_a_request_of_no_era_is_refused_as_one_without_a_version() -> None:
    """Overview, section "_meta": a request that lacks a required field is -32602."""
    rejected = refused(Request(7, "tools/list"))
    assert (rejected.code, rejected.id) == (INVALID_PARAMS, 7)


def test_a_ping_may_come_before_the_handshake_and_is_of_the_session_after_it() -> None:
    """Lifecycle, "Initialization": no requests but pings before the response to the handshake."""
    ping = Request(7, "ping")
    assert classify_line(ping, None) == EarlyPing(7)
    assert classify_line(ping, "s") == LegacyPost("s", None, ping)


def test_a_batch_before_the_handshake_is_refused() -> None:
    assert refused(Batch((Request(1, "ping"),))).code == INVALID_REQUEST


@pytest.mark.parametrize("session", [None, "s"])
def test_no_handshake_is_part_of_a_batch(session: str | None) -> None:
    assert refused(Batch((HANDSHAKE,)), session).code == INVALID_REQUEST


@pytest.mark.parametrize("message", LEGACY_MESSAGES[2:4], ids=lambda message: type(message).__name__)
def test_an_answer_is_passed_over_before_the_handshake(message: Any) -> None:
    assert classify_line(message, None) is None


@pytest.mark.parametrize(("params", "session"), [({}, None), ({"_meta": META}, None), ({"_meta": META}, "s")])
def test_a_notification_is_modern_if_it_says_so_or_nobody_has_shaken_hands(params: Any, session: str | None) -> None:
    asked = classify_line(Notification("acme/moved", params), session)
    assert asked == ModernNotification(LATEST, Notification("acme/moved", params))


@pytest.mark.parametrize("version", ["1999-01-01", LEGACY, 7])
def test_a_notification_of_a_version_that_it_cannot_name_is_passed_over(version: Any) -> None:
    assert classify_line(Notification("acme/moved", {"_meta": {VERSION_KEY: version}}), "s") is None
