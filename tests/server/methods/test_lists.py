"""The four lists: order, pages, cursors, hints ("Pagination"; "Caching")."""

from typing import Any

import pytest

from mcpfleet import CacheHint, Context, Principal, RegistrationError, Resource, ResourceTemplate, Server
from mcpfleet.server.outcome import Success
from tests.server.methods.desk import Asking, asking

KEYS = {
    "tools/list": "tools",
    "prompts/list": "prompts",
    "resources/list": "resources",
    "resources/templates/list": "resourceTemplates",
}
lists = pytest.mark.parametrize("method", KEYS)


def filled(count: int = 7, **options: Any) -> Server:
    """A server with so many of everything."""
    server = Server("s", **options)
    for number in range(count):
        name = f"n{number}"
        server.tool(name=name)(lambda: None)
        server.prompt(name=name)(lambda: "")
        server.resource(f"x://{number}", name=name)(lambda: "")
        server.resource(f"x://{number}/{{a}}", name=name)(lambda a: a)
    return server


async def walk(desk: Asking, method: str, **options: Any) -> list[list[str]]:
    """The names on each page, to the last."""
    pages, params = list[list[str]](), dict[str, Any]()
    while True:
        result = await desk.result(method, params, **options)
        pages.append([one["name"] for one in result[KEYS[method]]])
        if "nextCursor" not in result:
            return pages
        params = {"cursor": result["nextCursor"]}


@lists
@pytest.mark.parametrize(
    ("size", "sizes"), [(None, [7]), (1, [1] * 7), (3, [3, 3, 1]), (7, [7]), (8, [7]), (6, [6, 1])]
)
async def test_every_item_is_on_one_page_in_the_order_of_registration(
    method: str, size: int | None, sizes: list[int]
) -> None:
    async with asking(filled(), page_size=size) as desk:
        pages = await walk(desk, method)
    assert [len(page) for page in pages] == sizes
    assert [name for page in pages for name in page] == [f"n{number}" for number in range(7)]


@lists
async def test_a_cursor_that_this_list_did_not_give_is_refused(method: str) -> None:
    """Pagination, "Error Handling": -32602; of another list, another version, another kind, or altered."""
    async with asking(filled(), page_size=2) as desk, asking(filled(6), page_size=2) as other:
        cursor = (await desk.result(method))["nextCursor"]
        foreign = (await other.result(method))["nextCursor"]
        wrong = ["", "garbage", 5, [], foreign, cursor[:-1], cursor.swapcase(), cursor + "A"]
        wrong += [(await desk.result(another))["nextCursor"] for another in KEYS if another != method]
        for each in wrong:
            refused = await desk.refusal(method, {"cursor": each})
            assert (refused.code, refused.data) == (-32602, {"reason": "cursor"})
        assert len((await desk.result(method, {"cursor": cursor}))[KEYS[method]]) == 2
        assert len((await desk.result(method, {"cursor": None}))[KEYS[method]]) == 2


@lists
async def test_a_cursor_is_good_for_any_page_size_and_any_process(method: str) -> None:
    async with asking(filled(), page_size=2) as desk:
        cursor = (await desk.result(method))["nextCursor"]
    for size, names in ((3, ["n2", "n3", "n4"]), (None, ["n2", "n3", "n4", "n5", "n6"])):
        async with asking(filled(), page_size=size) as other:
            result = await other.result(method, {"cursor": cursor})
        assert [one["name"] for one in result[KEYS[method]]] == names


@lists
async def test_a_cursor_of_a_private_list_belongs_to_whom_it_was_given(method: str) -> None:
    ann, bob = Principal("ann", issuer="i"), Principal("bob", issuer="i")
    async with asking(filled(), page_size=2) as desk:
        cursor = {"cursor": (await desk.result(method, principal=ann))["nextCursor"]}
        assert await desk.result(method, cursor, principal=Principal("ann", issuer="i", claims={"new": 1}))
        for other in (bob, None, Principal("ann", issuer="j")):
            assert (await desk.refusal(method, cursor, principal=other)).code == -32602


@lists
async def test_a_cursor_of_a_public_list_leads_on_for_anybody(method: str) -> None:
    """Caching, "Cache Scope Field": whoever got the first page out of a shared cache must be able to go on."""
    async with asking(filled(cache=CacheHint(60, "public")), page_size=2) as desk:
        cursor = {"cursor": (await desk.result(method, principal=Principal("ann")))["nextCursor"]}
        for other in (Principal("bob"), None):
            assert len((await desk.result(method, cursor, principal=other))[KEYS[method]]) == 2


@lists
async def test_every_page_has_the_hint_that_the_server_was_given(method: str) -> None:
    """Caching, "Interaction with Pagination": the same scope on all pages."""
    hint = CacheHint(60, "public")
    for server, expected in ((filled(), CacheHint()), (filled(cache=hint), hint), (filled(cache={method: hint}), hint)):
        async with asking(server, page_size=4) as desk:
            first = await desk.outcome(method)
            assert isinstance(first, Success)
            cursor = first.result.next_cursor  # type: ignore[union-attr]  # every list has one
            second = await desk.outcome(method, {"cursor": cursor})
            assert isinstance(second, Success)
            assert first.cache == second.cache == expected


async def test_discovery_has_the_hint_too() -> None:
    async with asking(Server("s", cache=CacheHint(60))) as desk:
        outcome = await desk.outcome("server/discover")
        assert isinstance(outcome, Success)
        assert outcome.cache == CacheHint(60)


def test_a_hint_for_what_is_not_cacheable_is_refused() -> None:
    with pytest.raises(RegistrationError, match="the results of tools/call are not cacheable"):
        Server("s", cache={"tools/call": CacheHint()})


def dynamic() -> Server:
    """A server whose resources come and go with who asks."""
    server = filled(2)

    @server.list_resources
    async def notes(ctx: Context) -> list[Resource | ResourceTemplate]:
        whose = "nobody" if ctx.principal is None else ctx.principal.subject
        return [
            Resource(uri=f"notes://{whose}/1", name=f"{whose}1"),
            ResourceTemplate(uri_template="notes://{+path}", name="any"),
            Resource(uri="x://0", name="taken"),
            Resource(uri=f"notes://{whose}/2", name=f"{whose}2"),
        ]

    @server.list_resources
    def nothing() -> tuple[()]:
        return ()

    return server


async def test_what_functions_list_comes_after_what_is_registered() -> None:
    async with asking(dynamic()) as desk:
        assert await walk(desk, "resources/list") == [["n0", "n1", "nobody1", "nobody2"]]
        assert await walk(desk, "resources/templates/list") == [["n0", "n1", "any"]]


async def test_a_list_that_depends_on_who_asks_is_paged_for_each() -> None:
    async with asking(dynamic(), page_size=3) as desk:
        assert await walk(desk, "resources/list", principal=Principal("ann")) == [["n0", "n1", "ann1"], ["ann2"]]
        assert await walk(desk, "resources/list", principal=Principal("bob")) == [["n0", "n1", "bob1"], ["bob2"]]


async def test_a_server_may_have_nothing_but_what_functions_list() -> None:
    server = Server("s")
    server.list_resources(lambda: [Resource(uri="x://a", name="a")])
    async with asking(server) as desk:
        assert await walk(desk, "resources/list") == [["a"]]
        assert await walk(desk, "resources/templates/list") == [[]]


@pytest.mark.parametrize("value", [None, "x://a", [5], {"uri": "x://a"}])
async def test_a_list_of_anything_else_is_the_functions_fault(value: Any, caplog: pytest.LogCaptureFixture) -> None:
    server = Server("s")
    server.list_resources(lambda: value)
    async with asking(server) as desk:
        assert (await desk.refusal("resources/list")).code == -32603
    assert "a list of resources is one of" in caplog.text
