"""What no client could read of a definition is refused when it is registered, by the name of the member."""

from collections.abc import Callable
from typing import Any

import pytest

from mcpfleet import Annotations, CacheHint, Icon, RegistrationError, Server, ToolAnnotations

HTTPS = Icon(src="https://example.org/i.png", theme="dark")
Register = Callable[[Server, dict[str, Any]], Any]


def tool(server: Server, options: dict[str, Any]) -> None:
    server.tool(**{"name": "x", **options})(lambda: None)


def prompt(server: Server, options: dict[str, Any]) -> None:
    server.prompt(**{"name": "x", **options})(lambda: "hi")


def resource(server: Server, options: dict[str, Any]) -> None:
    server.resource("x://x", **{"name": "x", **options})(lambda: "hi")


def template(server: Server, options: dict[str, Any]) -> None:
    server.resource("x://{a}", **{"name": "x", **options})(lambda a: "hi")


def reader(server: Server, options: dict[str, Any]) -> None:
    server.read_resource(**options)(lambda uri: "hi")


def whole(_server: Server, options: dict[str, Any]) -> None:
    Server(**{"name": "x", **options})


each_kind = pytest.mark.parametrize("register", [tool, prompt, resource, template, whole])


@each_kind
@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"title": 5}, "title: Expected `str | null`, got `int`"),
        ({"description": ["a"]}, "description: Expected"),
        ({"icons": "x"}, r"icons\[0\]: Expected"),
        ({"icons": [{"src": 5}]}, r"icons\[0\]\.src: Expected `str`"),
        ({"icons": [Icon(src="https://x/i", theme="blue")]}, r"icons\[0\]\.theme: Invalid enum value 'blue'"),  # type: ignore[arg-type]  # the case
        ({"icons": [Icon(src="javascript:alert(1)")]}, "an icon has an https or data URI, not 'javascript:"),
        ({"icons": [HTTPS, Icon(src="i.png")]}, "not 'i.png'"),
    ],
)
def test_what_everything_has_is_checked(register: Register, options: dict[str, Any], words: str) -> None:
    with pytest.raises(RegistrationError, match=words):
        register(Server("s"), options)


@each_kind
def test_what_clients_can_read_is_taken(register: Register) -> None:
    register(Server("s"), {"title": "T", "icons": [HTTPS, Icon(src="data:image/png;base64,AA==")]})


@pytest.mark.parametrize(
    ("register", "options", "words"),
    [
        (tool, {"meta": [1]}, "_meta: Expected"),
        (tool, {"annotations": ToolAnnotations(read_only_hint="yes")}, "annotations.readOnlyHint: Expected"),  # type: ignore[arg-type]  # the case
        (tool, {"timeout": "5"}, "timeout must be a positive number"),
        (tool, {"timeout": True}, "timeout must be a positive number"),
        (prompt, {"timeout": None, "meta": "m"}, "_meta: Expected"),
        (resource, {"size": -1}, "size: Expected `int` >= 0"),
        (resource, {"size": "1"}, "size: Expected `int | null`, got `str`"),
        (resource, {"mime_type": "png"}, "'png' is no MIME type, such as image/png"),
        (template, {"mime_type": 5}, "mimeType: Expected"),
        (resource, {"annotations": {"priority": 5}}, "annotations: a priority is a number from 0 to 1"),
        (resource, {"cache": 60}, "cache must be a CacheHint"),
        (reader, {"mime_type": "png"}, "'png' is no MIME type"),
        (reader, {"mime_type": 5}, "'5' is no MIME type"),
        (reader, {"cache": 60}, "cache must be a CacheHint"),
        (whole, {"name": ""}, "a server needs a name"),
        (whole, {"name": None}, "name: Expected `str`"),
        (whole, {"version": None}, "version: Expected `str`"),
        (whole, {"cache": 60}, "cache must be a CacheHint"),
        (whole, {"cache": {"tools/list": 60}}, "cache must be a CacheHint"),
    ],
)
def test_what_only_some_have_is_checked(register: Register, options: dict[str, Any], words: str) -> None:
    with pytest.raises(RegistrationError, match=words):
        register(Server("s"), options)


@pytest.mark.parametrize("register", [tool, prompt, resource, template])
def test_an_option_that_there_is_not_is_refused_by_name(register: Register) -> None:
    """Else a misspelt one would do nothing, and nobody would know."""
    with pytest.raises(RegistrationError, match=r"there is no option 'tiemout'; there are .*timeout"):
        register(Server("s"), {"tiemout": 5})


def test_plain_objects_are_read_as_what_they_describe() -> None:
    server = Server("s", cache={"tools/list": CacheHint(60)})
    tool(server, {"annotations": {"readOnlyHint": True}, "icons": [{"src": "https://x/i"}]})
    resource(server, {"annotations": {"audience": ["user"]}})
    [listed] = server.registry.tools
    assert listed.definition.annotations == ToolAnnotations(read_only_hint=True)
    assert listed.definition.icons == [Icon(src="https://x/i")]
    assert [one.definition.annotations for one in server.registry.resources] == [Annotations(audience=["user"])]


@pytest.mark.parametrize("of", ["tool", "", None])
def test_only_prompts_and_resources_are_completed(of: Any) -> None:
    server = Server("s")
    tool(server, {})
    with pytest.raises(RegistrationError, match="completions are of a 'prompt' or a 'resource'"):
        server.completion(of, "x")
