"""Whom the endpoint lets in, by Host and Origin (transports, "Security Warning")."""

import pytest

from mcpfleet.protocol.headers import Headers
from mcpfleet.protocol.inbound import Rejected
from mcpfleet_service.guards import Guard

LOCAL = ("localhost", "127.0.0.1", "[::1]")


def refused(guard: Guard, *lines: tuple[str, str]) -> Rejected | None:
    rejected = guard.check(Headers([(name.encode(), value.encode()) for name, value in lines]))
    assert rejected is None or rejected.status == 403
    return rejected


@pytest.mark.parametrize(
    ("host", "allowed"),
    [
        ("localhost", True),
        ("LOCALHOST:8000", True),
        ("127.0.0.1:1", True),
        ("[::1]:8000", True),
        ("[::1]", True),
        ("", False),
        ("localhost.evil.example", False),
        ("evil.example", False),
        ("localhost:", False),
        ("localhost:8000:9000", False),
        ("localhost:\uff18", False),
        ("::1", False),
    ],
)
def test_a_host_is_allowed_if_it_is_named(host: str, allowed: bool) -> None:
    """DNS rebinding: a foreign name that points here is no name of ours."""
    assert (refused(Guard(LOCAL, ()), ("host", host)) is None) is allowed


def test_a_request_that_names_two_hosts_is_refused() -> None:
    assert refused(Guard(LOCAL, ()), ("host", "localhost"), ("host", "evil.example")) is not None
    assert refused(Guard(LOCAL, ()), ("host", "localhost"), ("host", "127.0.0.1")) is not None


@pytest.mark.parametrize(
    ("origin", "allowed"),
    [
        ("https://app.example.com", True),
        ("HTTPS://App.Example.com", True),
        ("http://localhost", True),
        ("http://localhost:3000", True),
        ("https://localhost:8000", True),
        ("http://app.example.com", False),
        ("https://app.example.com:444", False),
        ("https://app.example.com.evil.example", False),
        ("https://evil.example", False),
        ("http://127.0.0.1:8000", False),
        ("http://localhost@evil.example", False),
        ("http://[", False),
        ("localhost", False),
        ("null", False),
        ("", False),
    ],
)
def test_an_origin_is_allowed_if_it_is_named_or_of_the_same_host(origin: str, allowed: bool) -> None:
    """Transports, "Security Warning": any other Origin is 403."""
    guard = Guard(LOCAL, ("https://app.example.com",))
    assert (refused(guard, ("host", "localhost:8000"), ("origin", origin)) is None) is allowed


def test_a_request_without_an_origin_comes_from_no_page() -> None:
    assert refused(Guard(LOCAL, ()), ("host", "localhost")) is None


def test_every_origin_of_a_request_counts() -> None:
    lines = [("host", "localhost"), ("origin", "http://localhost"), ("origin", "https://evil.example")]
    assert refused(Guard(LOCAL, ()), *lines) is not None


def test_where_any_host_is_served_only_named_origins_are() -> None:
    """A page may call itself by any host then, also by the one that it asks for."""
    guard = Guard(None, ("https://app.example.com",))
    assert refused(guard, ("host", "anything.example")) is None
    assert refused(guard, ("host", "anything.example"), ("origin", "https://app.example.com")) is None
    assert refused(guard, ("host", "evil.example"), ("origin", "https://evil.example")) is not None
