"""URI templates: RFC 6570, level 1, matched backwards."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpfleet.errors import RegistrationError
from mcpfleet.protocol import uris

MATCHES: list[tuple[str, str, dict[str, str]]] = [
    ("users://{user_id}/profile", "users://42/profile", {"user_id": "42"}),
    ("test://template/{id}/data", "test://template/123/data", {"id": "123"}),
    ("file:///{path}", "file:///a.txt", {"path": "a.txt"}),
    ("x:{a}", "x:1", {"a": "1"}),
    ("x://{a}/{b}", "x://1/2", {"a": "1", "b": "2"}),
    ("x://{a}-{b}", "x://1-2-3", {"a": "1", "b": "2-3"}),
    ("x://{a}-{b}-{c}", "x://1-2-3-4", {"a": "1", "b": "2", "c": "3-4"}),
    ("x://{a}-end", "x://a-end-end", {"a": "a-end"}),
    ("x://{a}-{b}-end", "x://a--end-end", {"a": "a", "b": "-end"}),
    ("x://{a}aa", "x://aaa", {"a": "a"}),
    ("x://v{major}.{minor}", "x://v1.2.3", {"major": "1", "minor": "2.3"}),
    ("x://{name.first}", "x://a", {"name.first": "a"}),
    ("x://{a}", "x://%2F%20+ü", {"a": "%2F%20+ü"}),
    ("x://{a}", "x://a?b=c#d", {"a": "a?b=c#d"}),
    ("x://{a}", "x://...", {"a": "..."}),
    ("x://plain", "x://plain", {}),
]


@pytest.mark.parametrize(("template", "uri", "values"), MATCHES)
def test_a_uri_is_read_by_a_template_and_no_value_is_decoded(template: str, uri: str, values: dict[str, str]) -> None:
    assert uris.parse(template).match(uri) == values


@pytest.mark.parametrize(
    ("template", "uri"),
    [
        ("users://{user_id}/profile", "users://4/2/profile"),
        ("users://{user_id}/profile", "users:///profile"),
        ("users://{user_id}/profile", "users://42/profile/"),
        ("users://{user_id}/profile", "users://42/profiles"),
        ("users://{user_id}/profile", "users://42"),
        ("users://{user_id}/profile", "USERS://42/profile"),
        ("x://{a}-{b}", "x://1"),
        ("x://{a}-{b}", "x://-2"),
        ("x://{a}-{b}", "x://1-"),
        ("x://{a}-{b}-end", "x://1-end"),
        ("x://v{a}", "x://v"),
        ("x://aa{a}aa", "x://aaaa"),
        ("x://plain", "x://plainer"),
    ],
)
def test_a_uri_that_differs_does_not_match(template: str, uri: str) -> None:
    assert uris.parse(template).match(uri) is None


@pytest.mark.parametrize("uri", ["file:///.", "file:///..", "file:///../x"])
def test_a_value_is_never_a_dot_segment(uri: str) -> None:
    """RFC 3986, section 5.2.4: it stands for another place; resources MUST NOT be read by traversal."""
    assert uris.parse("file:///{name}").match(uri) is None
    assert uris.parse("file:///{name}/x").match(uri) is None
    assert uris.parse("file:///.{name}").match("file:///..") is None


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ("https://example.com", True),
        ("https://example.com:8080/a?b=c#d", True),
        ("http://[::1]/", True),
        ("com.example.app://open/page", True),
        ("https:", False),
        ("https:///page", False),
        ("mailto:ada@example.com", False),
        ("//example.com/page", False),
        ("https://[", False),
        ("https://example.com/a b", False),
        ("", False),
    ],
)
def test_a_url_names_a_host(text: str, verdict: bool) -> None:
    assert uris.is_url(text) is verdict


@pytest.mark.parametrize(
    ("uri", "verdict"),
    [
        ("file:///srv/../etc/passwd", True),
        ("file:///srv/./a", True),
        ("file:///..", True),
        ("file:///srv/%2e%2E/a", True),
        ("file:///srv%2F..%2fetc", True),
        ("file:///srv%5C..%5cetc", True),
        ("x:..", True),
        ("x:a/..", True),
        ("file:///srv/..a/b..", False),
        ("file:///srv/...", False),
        ("file:///srv/.hidden", False),
        ("x://host/a?b=/../c", False),
        ("x://host/a#/../c", False),
        ("urn:a.b", False),
    ],
)
def test_a_dot_segment_is_found_however_it_is_written(uri: str, verdict: bool) -> None:
    """RFC 3986, section 6.2.2.3."""
    assert uris.has_dot_segments(uri) is verdict


@pytest.mark.parametrize(
    "expression", ["+path", "#fragment", "?query", "/path", "&x", ";x", ".x", "a,b", "a*", "a:3", ""]
)
def test_an_expression_beyond_level_1_is_text_and_matches_nothing(expression: str) -> None:
    text = f"x://{{id}}/{{{expression}}}"
    template = uris.parse(text)
    assert (template.text, template.simple, template.variables) == (text, False, ("id",))
    for uri in ("x://1/2", "x://1/", "x://1", text, f"x://1/{{{expression}}}"):
        assert template.match(uri) is None


def test_a_template_tells_its_variables_in_order() -> None:
    assert uris.parse("x://{b}/{a}").variables == ("b", "a")
    assert uris.parse("x://{id}{?q}").variables == ("id",)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("x://{a", "a brace without its other half"),
        ("x://a}", "a brace without its other half"),
        ("x://{a{b}}", "a brace without its other half"),
        ("{a}", "no template of absolute URIs"),
        ("x://a b/{c}", "no template of absolute URIs"),
        ("x://{a}{b}", "two variables with nothing between them"),
        ("x://{a}/{a}", "a variable twice"),
    ],
)
def test_a_text_that_is_no_template_is_refused(text: str, words: str) -> None:
    with pytest.raises(RegistrationError, match=words):
        uris.parse(text)


@pytest.mark.parametrize(
    "uri", ["config://app", "file:///a%20b", "urn:isbn:1", "x:", "test://ü", "a+b-c.d://[::1]:8/?q=(1)#f", "HTTP://X"]
)
def test_an_absolute_uri_is_one(uri: str) -> None:
    assert uris.is_uri(uri)


@pytest.mark.parametrize(
    "text", ["", "app", "/app", "1x://a", "x://a b", "x://{a}", "x://a\n", "x://\x00", "x://a|b", " x:"]
)
def test_anything_else_is_no_uri(text: str) -> None:
    assert not uris.is_uri(text)


def test_a_text_with_a_brace_can_only_be_a_template() -> None:
    assert uris.is_template("x://{a}")
    assert uris.is_template("x://a}")
    assert not uris.is_template("x://a")


VALUES = st.text("ab-.", min_size=1)


@given(VALUES, VALUES)
def test_what_a_template_was_expanded_to_matches_it(a: str, b: str) -> None:
    values = uris.parse("x://p/{a}-{b}.q/r").match(f"x://p/{a}-{b}.q/r")
    assert values is not None
    assert f"{values['a']}-{values['b']}" == f"{a}-{b}"
    assert all(values.values())


@given(st.text("ab-", max_size=9))
def test_a_segment_matches_exactly_if_any_reading_of_it_does(segment: str) -> None:
    matched = uris.parse("x://{a}-{b}-b").match(f"x://{segment}") is not None
    assert matched == (re.fullmatch(".+-.+-b", segment) is not None)
