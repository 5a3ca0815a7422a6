"""Hosts and origins, as browsers, proxies and probes write them (transports, "Security Warning")."""

import pytest

from mcpfleet.protocol.headers import Headers
from mcpfleet_service.guards import Guard

HOSTS = ("localhost", "127.0.0.1", "[::1]", "MCP.example.com")
ORIGINS = ("https://App.example.com", "http://ui.example.com:3000")


def verdict(guard: Guard, *lines: tuple[str, str]) -> str | None:
    """Why a request with these headers is refused; None if it is not."""
    refused = guard.check(Headers((name.encode(), value.encode()) for name, value in lines))
    if refused is None:
        return None
    assert (refused.status, refused.code) == (403, -32600)
    assert refused.data is not None
    reason: str = refused.data["reason"]
    return reason


@pytest.mark.parametrize(
    "host",
    [
        "localhost",
        "localhost:8000",
        "LocalHost",
        "127.0.0.1",
        "127.0.0.1:65535",
        "[::1]",
        "[::1]:8000",
        "mcp.example.com",
        "MCP.EXAMPLE.COM:443",
    ],
)
def test_a_known_host_is_served_with_any_port_and_in_any_case(host: str) -> None:
    assert verdict(Guard(HOSTS, ()), ("Host", host)) is None


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:8000",
        "localhost.evil.example",
        "evil-localhost",
        "10.0.0.5:8000",
        "[::2]",
        "::1",
        "::1:8000",
        "[::1",
        "localhost:",
        "localhost:80:80",
        "localhost:x",
        "localhost:٣",
        "localhost@evil.example",
        "",
        ":8000",
        " ",
    ],
)
def test_any_other_host_is_refused(host: str) -> None:
    assert verdict(Guard(HOSTS, ()), ("Host", host)) == "host"


@pytest.mark.parametrize("host", ["mcp.example.com:8443", "MCP.example.com:8443", "[::1]:1"])
def test_a_host_that_is_known_by_its_port_is_served_with_it(host: str) -> None:
    assert verdict(Guard(("MCP.example.com:8443", "[::1]:1"), ()), ("Host", host)) is None


@pytest.mark.parametrize(
    "host", ["mcp.example.com", "mcp.example.com:443", "mcp.example.com:84430", "[::1]", "[::1]:2"]
)
def test_with_any_other_port_it_is_refused(host: str) -> None:
    assert verdict(Guard(("mcp.example.com:8443", "[::1]:1"), ()), ("Host", host)) == "host"


def test_a_request_without_a_host_is_refused_and_one_with_two_as_well() -> None:
    guard = Guard(HOSTS, ())
    assert verdict(guard) == "host"
    assert verdict(guard, ("Host", "localhost"), ("Host", "evil.example")) == "host"
    assert verdict(guard, ("Host", "localhost"), ("Host", "localhost")) is None


@pytest.mark.parametrize("header", ["X-Forwarded-Host", "Forwarded"])
def test_what_a_stranger_says_was_forwarded_changes_nothing(header: str) -> None:
    guard = Guard(HOSTS, ())
    assert verdict(guard, ("Host", "evil.example"), (header, "localhost")) == "host"
    assert verdict(guard, ("Host", "localhost"), (header, "evil.example")) is None


@pytest.mark.parametrize(
    "origin",
    [
        "http://localhost",
        "http://localhost:3000",
        "https://LOCALHOST:8000",
        "https://app.example.com",
        "HTTPS://APP.example.com",
        "http://ui.example.com:3000",
    ],
)
def test_pages_of_the_served_host_and_of_allowed_origins_are_served(origin: str) -> None:
    assert verdict(Guard(HOSTS, ORIGINS), ("Host", "localhost:8000"), ("Origin", origin)) is None


@pytest.mark.parametrize(
    "origin",
    [
        "null",
        "",
        "https://evil.example",
        "http://127.0.0.1",
        "http://ui.example.com",
        "http://ui.example.com:3001",
        "http://app.example.com",
        "https://app.example.com.evil.example",
        "https://app.example.com/path",
        "http://localhost.evil.example",
        "http://localhost@evil.example",
        "http://evil.example#@localhost",
        "localhost",
        "http://",
        "http://[::1",
        "file://",
        "chrome-extension://abcdef",
    ],
)
def test_any_other_page_is_refused(origin: str) -> None:
    assert verdict(Guard(HOSTS, ORIGINS), ("Host", "localhost"), ("Origin", origin)) == "origin"


def test_a_page_of_an_address_in_brackets_is_served_there() -> None:
    assert verdict(Guard(HOSTS, ()), ("Host", "[::1]:8000"), ("Origin", "http://[::1]:3000")) is None


def test_each_of_several_origins_must_be_allowed() -> None:
    guard = Guard(HOSTS, ORIGINS)
    good, evil = ("Origin", "https://app.example.com"), ("Origin", "https://evil.example")
    assert verdict(guard, ("Host", "localhost"), good, evil) == "origin"
    assert verdict(guard, ("Host", "localhost"), good, good) is None


def test_without_a_host_check_any_host_is_served() -> None:
    assert verdict(Guard(None, ()), ("Host", "whatever.example")) is None
    assert verdict(Guard(None, ())) is None


def test_without_a_host_check_only_allowed_pages_are_served_since_any_name_can_point_here() -> None:
    guard = Guard(None, ORIGINS)
    assert verdict(guard, ("Host", "evil.example"), ("Origin", "http://evil.example")) == "origin"
    assert verdict(guard, ("Host", "evil.example"), ("Origin", "https://app.example.com")) is None


@pytest.mark.parametrize("origin", ["https://evil.example", "null", ""])
def test_without_a_check_of_pages_all_are_served_on_known_hosts(origin: str) -> None:
    guard = Guard(HOSTS, None)
    assert verdict(guard, ("Host", "localhost"), ("Origin", origin)) is None
    assert verdict(guard, ("Host", "evil.example"), ("Origin", origin)) == "host"


def test_a_client_that_is_no_page_needs_no_origin() -> None:
    assert verdict(Guard(HOSTS, ()), ("Host", "localhost")) is None
