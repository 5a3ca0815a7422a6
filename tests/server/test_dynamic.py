"""Functions that list and read resources which nobody registered one by one."""

import asyncio
from typing import Any

import pytest

from mcpfleet import CacheHint, RegistrationError, Resource, Server
from mcpfleet.server.outcome import Success
from tests.server.methods.desk import asking


def lists(wanted: str = "default") -> list[Resource]:
    return [Resource(uri=f"x://{wanted}", name=wanted)]


def reads(uri: str, depth: int = 1) -> str:
    return f"{uri} {depth}"


def test_both_are_registered_bare_or_with_options_and_returned_unchanged() -> None:
    server = Server("s")
    assert server.list_resources(lists) is lists
    assert server.read_resource(reads) is reads

    @server.list_resources(timeout=2)
    def others() -> list[Resource]:
        return []

    @server.read_resource(mime_type="text/x", timeout=3, cache=CacheHint(5))
    def other(uri: str) -> None: ...

    assert (others(), other("x")) == ([], None)
    assert [one.timeout for one in server.registry.listers] == [None, 2]
    assert [(one.mime_type, one.timeout, one.cache) for one in server.registry.readers] == [
        (None, None, None),
        ("text/x", 3, CacheHint(5)),
    ]


async def test_a_class_or_an_instance_lists_and_reads() -> None:
    class Notes:
        """What there is."""

        def __call__(self) -> list[Resource]:
            return [Resource(uri="x://note", name="note")]

    class Reads:
        """What is there."""

        async def __call__(self, uri: str) -> str:
            return f"at {uri}"

    for lists_, reads_ in ((Notes, Reads), (Notes(), Reads())):
        server = Server("s")
        assert server.list_resources(lists_) is lists_
        assert server.read_resource(reads_) is reads_
        async with asking(server) as desk:
            [listed] = (await desk.result("resources/list"))["resources"]
            [read] = (await desk.result("resources/read", {"uri": listed["uri"]}))["contents"]
            assert read["text"] == "at x://note"


async def test_what_nobody_gives_has_its_default() -> None:
    server = Server("s")
    server.list_resources(lists)
    server.read_resource(mime_type="text/x", cache=CacheHint(5))(reads)
    async with asking(server) as desk:
        assert (await desk.result("resources/list"))["resources"] == [{"uri": "x://default", "name": "default"}]
        outcome = await desk.outcome("resources/read", {"uri": "x://default"})
        assert isinstance(outcome, Success)
        assert outcome.cache == CacheHint(5)
        result = await desk.result("resources/read", {"uri": "x://default"})
    assert result["contents"] == [{"uri": "x://default", "text": "x://default 1", "mimeType": "text/x"}]


@pytest.mark.parametrize("method", ["resources/list", "resources/templates/list"])
async def test_listing_has_the_time_of_all_its_functions(method: str) -> None:
    server = Server("s")

    @server.list_resources(timeout=0.03)
    async def slow() -> list[Any]:
        await asyncio.Event().wait()
        return []

    server.list_resources(timeout=0.02)(lists)
    async with asking(server) as desk:
        refused = await desk.refusal(method)
    assert refused.message == "The call did not finish within 0.05 seconds."


def needs(more: str) -> list[Any]:
    return [more]


def without() -> str:
    return ""


def needs_more(uri: str, more: str) -> str:
    return uri + more


def test_a_function_that_wants_what_nobody_gives_is_refused() -> None:
    server = Server("s")
    with pytest.raises(RegistrationError, match="list of resources: nobody can give parameter 'more'"):
        server.list_resources(needs)
    with pytest.raises(RegistrationError, match="reader of resources: the function must take `uri`"):
        server.read_resource(without)
    with pytest.raises(RegistrationError, match="reader of resources: nobody can give parameter 'more'"):
        server.read_resource(needs_more)
    with pytest.raises(RegistrationError, match="timeout must be a positive number"):
        server.list_resources(timeout=0)(lists)
    with pytest.raises(RegistrationError, match="timeout must be a positive number"):
        server.read_resource(timeout=-1)(reads)
    assert not server.registry
