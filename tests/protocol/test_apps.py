"""MCP Apps: how a tool names its page, and which clients show one."""

from typing import Any

import pytest

from mcpfleet import apps


def test_a_tool_names_its_page_in_one_form_or_both() -> None:
    assert apps.linked("ui://a/b") == {"ui": {"resourceUri": "ui://a/b"}}
    assert apps.linked("ui://a", older_hosts=True) == {"ui": {"resourceUri": "ui://a"}, "ui/resourceUri": "ui://a"}


@pytest.mark.parametrize("uri", ["https://a/b", "ui:a", ""])
def test_a_page_has_a_uri_of_its_own_kind(uri: str) -> None:
    with pytest.raises(ValueError, match="a page is a resource with a URI such as"):
        apps.linked(uri)


@pytest.mark.parametrize(
    ("capabilities", "shows"),
    [
        ({"extensions": {apps.NAME: {"mimeTypes": ["text/html;profile=mcp-app"]}}}, True),
        ({"extensions": {apps.NAME: {}}}, True),
        ({"extensions": {apps.NAME: {"mimeTypes": ["text/html"]}}}, False),
        ({"extensions": {apps.NAME: {"mimeTypes": "text/html;profile=mcp-app"}}}, False),
        ({"extensions": {apps.NAME: None}}, False),
        ({"extensions": {"com.example/ui": {}}}, False),
        ({"extensions": []}, False),
        ({}, False),
    ],
)
def test_a_client_shows_pages_if_it_says_so(capabilities: dict[str, Any], shows: bool) -> None:
    assert apps.supported(capabilities) is shows


def test_a_server_declares_the_type_of_its_pages() -> None:
    assert apps.EXTENSION == {"io.modelcontextprotocol/ui": {"mimeTypes": ["text/html;profile=mcp-app"]}}
