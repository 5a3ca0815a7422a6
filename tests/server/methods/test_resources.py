"""`resources/read` ("Resources", sections "Reading Resources" and "Error Handling")."""

import asyncio
from typing import Any

import pytest

from mcpfleet import CacheHint, Context, ReadResourceResult, ResourceNotFound, Server, ToolError
from mcpfleet.server.outcome import Refusal, Success
from tests.server.methods.desk import asking


def server_of(*uris: str) -> Server:
    """Each URI and template tells its own text."""
    server = Server("s")
    for uri in uris:

        def read(*, own: str = uri, **variables: str) -> str:
            return " ".join([own, *(f"{name}={value}" for name, value in sorted(variables.items()))])

        server.resource(uri, name="r")(read)
    return server


async def text(server: Server, uri: str) -> str:
    async with asking(server) as desk:
        [one] = (await desk.result("resources/read", {"uri": uri}))["contents"]
        assert one["uri"] == uri
        read: str = one["text"]
        return read


ALL = ("x://{a}", "x://me", "x://{a}/{b}", "x://{c}-{d}")


@pytest.mark.parametrize(
    ("uri", "read"),
    [
        ("x://me", "x://me"),
        ("x://you", "x://{a} a=you"),
        ("x://you/5", "x://{a}/{b} a=you b=5"),
        ("x://1-2", "x://{a} a=1-2"),
        ("x://%2Fme", "x://{a} a=%2Fme"),
    ],
)
async def test_an_exact_resource_wins_and_of_templates_the_first(uri: str, read: str) -> None:
    assert await text(server_of(*ALL), uri) == read


@pytest.mark.parametrize("uri", ["x://", "x://a/b/c", "y://me", "x:me", "x://me/"])
async def test_a_uri_that_nothing_reads_is_not_found(uri: str) -> None:
    """-32602 with the URI in the modern era, which `renumber` makes of it."""
    async with asking(server_of(*ALL)) as desk:
        assert await desk.outcome("resources/read", {"uri": uri}) == Refusal(-32002, "Resource not found", {"uri": uri})


@pytest.mark.parametrize("uri", ["", "me", "x://a b", "/etc/passwd", "x://{a}"])
async def test_what_is_no_uri_is_refused_before_anything_is_called(uri: str) -> None:
    """Resources, "Security Considerations": servers MUST validate all resource URIs."""
    server, asked = Server("s"), list[str]()

    @server.read_resource
    def read(uri: str) -> str:
        asked.append(uri)
        return ""

    async with asking(server) as desk:
        assert await desk.outcome("resources/read", {"uri": uri}) == Refusal(
            -32602, "params.uri must be an absolute URI", {"uri": uri}
        )
        for params in ({}, {"uri": 5}):
            assert await desk.outcome("resources/read", params) == Refusal(-32602, "params.uri must be a string")
    assert asked == []


async def test_a_variable_that_does_not_fit_means_that_nothing_is_there() -> None:
    server = Server("s")

    @server.resource("items://{number}")
    def item(number: int) -> str | None:
        return None if number == 7 else str(number)

    assert await text(server, "items://5") == "5"
    async with asking(server) as desk:
        for uri in ("items://x", "items://7"):
            refused = await desk.refusal("resources/read", {"uri": uri})
            assert (refused.code, refused.data) == (-32002, {"uri": uri})


async def test_readers_are_asked_in_order_for_what_nothing_else_has() -> None:
    server = server_of("x://me")
    asked: list[str] = []

    @server.read_resource
    async def first(uri: str, ctx: Context) -> str | None:
        asked.append(f"first {uri}")
        return "first" if uri.endswith("1") else None

    @server.read_resource
    def second(uri: str) -> bytes:
        asked.append(f"second {uri}")
        if uri.endswith("3"):
            raise ResourceNotFound(uri)
        return b"second"

    assert await text(server, "x://me") == "x://me"
    assert asked == []
    assert await text(server, "y://1") == "first"
    async with asking(server) as desk:
        [one] = (await desk.result("resources/read", {"uri": "y://2"}))["contents"]
        assert one == {"uri": "y://2", "blob": "c2Vjb25k", "mimeType": "application/octet-stream"}
        assert await desk.outcome("resources/read", {"uri": "y://3"}) == Refusal(
            -32002, "Resource not found", {"uri": "y://3"}
        )
    assert asked == ["first y://1", "first y://2", "second y://2", "first y://3", "second y://3"]


@pytest.mark.parametrize("uri", ["file:///srv/../etc/passwd", "file:///%2e%2e/etc/passwd", "file:///srv%2f..%2fetc"])
async def test_a_path_that_leads_out_of_what_is_served_reaches_no_function(uri: str) -> None:
    """Resources, "Security Considerations": no directory traversal."""
    server, asked = Server("s"), list[str]()

    @server.resource("file:///{name}")
    @server.read_resource
    def read(uri: str = "", name: str = "") -> str:
        asked.append(uri or name)
        return ""

    async with asking(server) as desk:
        assert await desk.outcome("resources/read", {"uri": uri}) == Refusal(-32002, "Resource not found", {"uri": uri})
        assert (await desk.result("resources/read", {"uri": "file:///a"}))["contents"]
    assert len(asked) == 1


async def test_a_read_has_its_time_and_its_own_words_and_its_own_hint() -> None:
    server = Server("s", cache={"resources/read": CacheHint(60)})

    @server.resource("x://slow", timeout=0.05)
    async def slow() -> str:
        await asyncio.Event().wait()
        return ""

    @server.resource("x://fails", cache=CacheHint(5, "public"))
    def fails(uri: str) -> str:
        raise ToolError("Not today.")

    @server.resource("x://cached", cache=CacheHint(5, "public"))
    def cached() -> str:
        return ""

    server.resource("x://plain", name="plain")(lambda: "")
    async with asking(server) as desk:
        assert "within 0.05 seconds" in (await desk.refusal("resources/read", {"uri": "x://slow"})).message
        assert await desk.outcome("resources/read", {"uri": "x://fails"}) == Refusal(-32603, "Not today.")
        for uri, hint in (("x://cached", CacheHint(5, "public")), ("x://plain", CacheHint(60))):
            outcome = await desk.outcome("resources/read", {"uri": uri})
            assert isinstance(outcome, Success)
            assert outcome.cache == hint


async def test_words_of_an_exception_stay_here(caplog: pytest.LogCaptureFixture) -> None:
    server = Server("s")

    @server.read_resource
    def read(uri: str) -> Any:
        raise LookupError("hunter2")

    async with asking(server) as desk:
        refused = await desk.refusal("resources/read", {"uri": "x://a"})
    assert (refused.code, refused.message) == (-32603, "Internal error")
    assert "hunter2" in caplog.text


@pytest.mark.parametrize("method", ["resources/list", "resources/read", "resources/templates/list"])
async def test_a_server_without_resources_does_not_have_their_methods(method: str) -> None:
    async with asking(Server("s")) as desk:
        assert (await desk.refusal(method, {"uri": "x://a"})).code == -32601


@pytest.mark.parametrize("retried", [{"inputResponses": {}}, {"requestState": "sealed"}])
async def test_what_depends_on_a_clients_answers_is_not_to_be_kept(retried: dict[str, Any]) -> None:
    """Caching, "Cache Key": results of requests with these MUST NOT be cached."""
    server = Server("s", cache=CacheHint(60, "public"))
    server.resource("x://a", name="a")(lambda: "a")
    server.resource("x://b", name="b")(lambda: ReadResourceResult(contents=[], ttl_ms=5, cache_scope="public"))
    async with asking(server) as desk:
        for uri, contents in (("x://a", 1), ("x://b", 0)):
            outcome = await desk.outcome("resources/read", {"uri": uri, **retried})
            assert isinstance(outcome, Success)
            assert isinstance(outcome.result, ReadResourceResult)
            assert (outcome.cache, outcome.result.ttl_ms, outcome.result.cache_scope) == (CacheHint(), None, None)
            assert len(outcome.result.contents) == contents
