"""Resources and templates: what is told of them, and what reading one gives."""

import base64
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from mcpfleet.errors import OutputRefused, RegistrationError, ResourceNotFound
from mcpfleet.protocol import jsontext
from mcpfleet.protocol.messages import Annotations, Icon, ReadResourceResult, ResourceContents
from mcpfleet.protocol.wire import CacheHint
from mcpfleet.server.contents import contents
from mcpfleet.server.resource import ServedResource, ServedTemplate, compile_resource
from mcpfleet.server.threads import Threads

URI = "test://a"


class Context:
    pass


def told_as(value: Any) -> Any:
    """As a client reads it."""
    return jsontext.loads(jsontext.dumps(value))


@pytest.fixture
async def threads() -> AsyncIterator[Threads]:
    threads = Threads()
    yield threads
    threads.close()


def exact(function: Any, uri: str = URI, **options: Any) -> ServedResource:
    compiled = compile_resource(function, context_type=Context, uri=uri, **options)
    assert isinstance(compiled, ServedResource)
    return compiled


def template(function: Any, uri: str, **options: Any) -> ServedTemplate:
    compiled = compile_resource(function, context_type=Context, uri=uri, **options)
    assert isinstance(compiled, ServedTemplate)
    return compiled


def app() -> str:
    """The settings."""
    return "{}"


def test_a_resource_is_told_by_its_function_and_options() -> None:
    assert told_as(exact(app).definition) == {"uri": URI, "name": "app", "description": "The settings."}
    options: dict[str, Any] = {
        "name": "Any name",
        "title": "T",
        "description": "D",
        "mime_type": "application/json",
        "size": 2,
        "annotations": Annotations(priority=1),
        "icons": [Icon(src="https://x/i.png")],
        "meta": {"m": 1},
    }
    resource = exact(app, **options, timeout=2, cache=CacheHint(5))
    assert told_as(resource.definition) == {
        "uri": URI,
        "name": "Any name",
        "title": "T",
        "description": "D",
        "mimeType": "application/json",
        "size": 2,
        "annotations": {"priority": 1},
        "icons": [{"src": "https://x/i.png"}],
        "_meta": {"m": 1},
    }
    assert (resource.reading.timeout, resource.reading.cache) == (2, CacheHint(5))


def test_a_template_is_told_apart_by_its_braces() -> None:
    def profile(user_id: str) -> str:
        return user_id

    assert told_as(template(profile, "users://{user_id}/profile", mime_type="text/plain").definition) == {
        "uriTemplate": "users://{user_id}/profile",
        "name": "profile",
        "mimeType": "text/plain",
    }


@pytest.mark.parametrize("uri", ["users://{user_id}", "users://me"])
def test_a_class_or_an_instance_says_its_uri_itself(uri: str) -> None:
    class UserProfile:
        title = "Profile"

        def __call__(self, user_id: str = "me") -> str:
            return user_id

    UserProfile.uri = uri  # type: ignore[attr-defined]  # what an author would write in the class
    for offered in (UserProfile, UserProfile()):
        compiled = compile_resource(offered, context_type=Context)
        assert (compiled.definition.name, compiled.definition.title) == ("user_profile", "Profile")
        assert isinstance(compiled, ServedTemplate) is ("{" in uri)


@dataclass
class Point:
    x: int


READ: list[tuple[Any, dict[str, Any]]] = [
    ("text", {"text": "text", "mimeType": "text/plain"}),
    ("", {"text": "", "mimeType": "text/plain"}),
    (b"\xff", {"blob": "/w==", "mimeType": "application/octet-stream"}),
    (bytearray(b"hi"), {"blob": "aGk=", "mimeType": "application/octet-stream"}),
    ({"a": [1]}, {"text": '{"a":[1]}', "mimeType": "application/json"}),
    (["a", "b"], {"text": '["a","b"]', "mimeType": "application/json"}),
    ([], {"text": "[]", "mimeType": "application/json"}),
    (Point(1), {"text": '{"x":1}', "mimeType": "application/json"}),
    (5, {"text": "5", "mimeType": "application/json"}),
    (False, {"text": "false", "mimeType": "application/json"}),
]


@pytest.mark.parametrize(("value", "told"), READ)
async def test_what_a_resource_returns_becomes_contents(threads: Threads, value: Any, told: dict[str, Any]) -> None:
    result = await exact(lambda: value, name="a").reading.read(URI, {}, Context(), threads)
    assert told_as(result) == {"contents": [{"uri": URI, **told}]}
    result = await contents(value, URI, "text/x", threads)
    assert told_as(result)["contents"][0]["mimeType"] == "text/x"


async def test_several_contents_are_sent_in_order(threads: Threads, tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    path.write_text("# hi")
    other = ResourceContents("test://b", text="b")
    result = await contents([other, "text", b"hi", path], URI, None, threads)
    assert [(each.uri, each.text, each.blob, each.mime_type) for each in result.contents] == [
        ("test://b", "b", None, None),
        (URI, "text", None, "text/plain"),
        (URI, None, "aGk=", "application/octet-stream"),
        (URI, "# hi", None, "text/markdown"),
    ]


async def test_what_is_ready_passes(threads: Threads) -> None:
    ready = ReadResourceResult(contents=[], ttl_ms=5)
    assert await contents(ready, URI, None, threads) is ready
    one = ResourceContents("test://b", blob="")
    assert (await contents(one, URI, "text/x", threads)).contents == (one,)


async def test_a_file_is_text_or_a_blob_by_its_name_and_may_be_missing(threads: Threads, tmp_path: Path) -> None:
    path = tmp_path / "a.png"
    path.write_bytes(b"\x89PNG")
    [one] = (await contents(path, URI, None, threads)).contents
    assert (base64.b64decode(one.blob or ""), one.mime_type) == (b"\x89PNG", "image/png")
    for missing in (tmp_path / "absent", tmp_path, path / "below"):
        with pytest.raises(ResourceNotFound):
            await contents(missing, URI, None, threads)


async def test_none_means_that_nothing_is_there(threads: Threads) -> None:
    with pytest.raises(ResourceNotFound) as missing:
        await exact(lambda: None, name="a").reading.read(URI, {}, Context(), threads)
    assert (missing.value.code, missing.value.data) == (-32002, {"uri": URI})


@pytest.mark.parametrize("value", [object(), {"a": object()}, float("nan"), [float("inf")]])
async def test_a_value_without_a_json_form_is_the_resources_fault(threads: Threads, value: Any) -> None:
    with pytest.raises(OutputRefused, match="no JSON form"):
        await contents(value, URI, None, threads)


async def test_variables_are_converted_and_the_uri_and_a_context_are_given(threads: Threads) -> None:
    def item(number: int, ctx: Context, uri: str, depth: int = 1) -> str:
        return f"{number + 1} {type(ctx).__name__} {uri} {depth}"

    reading = template(item, "items://{number}").reading
    result = await reading.read("items://5", {"number": "5"}, Context(), threads)
    assert result.contents[0].text == "6 Context items://5 1"
    with pytest.raises(ResourceNotFound, match="Resource not found: number: "):
        await reading.read("items://x", {"number": "x"}, Context(), threads)


async def test_a_variable_called_uri_is_a_variable(threads: Threads) -> None:
    result = await template(lambda uri: uri, "x://{uri}", name="a").reading.read(
        "x://5", {"uri": "5"}, Context(), threads
    )
    assert result.contents[0].text == "5"


async def test_an_open_function_takes_every_variable(threads: Threads) -> None:
    def function(**variables: str) -> Any:
        return variables

    reading = template(function, "x://{a}/{b}").reading
    result = await reading.read("x://1/2", {"a": "1", "b": "2"}, Context(), threads)
    assert result.contents[0].text == '{"a":"1","b":"2"}'


def takes(user_id: str) -> str:
    return user_id


@pytest.mark.parametrize(
    ("function", "options", "words"),
    [
        (app, {"uri": "app"}, "no absolute URI"),
        (app, {"uri": "x://a b"}, "no absolute URI"),
        (app, {"uri": None}, "needs a URI"),
        (app, {"uri": "x://{id}"}, "no parameter takes the variable 'id'"),
        (takes, {"uri": "x://{id}"}, "no parameter takes the variable 'id'"),
        (takes, {"uri": "x://a"}, "parameter 'user_id' is no variable of the URI"),
        (takes, {"uri": "x://{+user_id}"}, r"only expressions like \{name\} are matched"),
        (takes, {"uri": "x://{user_id}{?q}"}, r"only expressions like \{name\} are matched"),
        (takes, {"uri": "x://{user_id"}, "a brace without its other half"),
        (takes, {"uri": "x://{user_id}", "size": 5}, "a template has no size"),
        (app, {"uri": "x:a", "timeout": -1}, "timeout must be a positive number"),
        (lambda: "", {"uri": "x:a", "name": ""}, "needs a name"),
        (app, {"uri": "x:a", "meta": {"a": float("nan")}}, "its definition is not JSON"),
    ],
)
def test_what_could_not_be_served_is_refused_at_registration(
    function: Any, options: dict[str, Any], words: str
) -> None:
    with pytest.raises(RegistrationError, match=words):
        compile_resource(function, context_type=Context, **options)


def test_a_new_name_leaves_the_uri_alone() -> None:
    renamed = exact(app).renamed("crm_app")
    assert (renamed.definition.name, renamed.definition.uri) == ("crm_app", URI)
    other = template(takes, "x://{user_id}").renamed("crm_takes")
    assert (other.definition.name, other.definition.uri_template) == ("crm_takes", "x://{user_id}")
