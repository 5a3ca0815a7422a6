"""Lists page by page, each page from another process ("Pagination")."""

from typing import Any

import pytest

from tests.fleets import Fleet, Launch
from tests.wire import EVERY, MODERN, Client, connected

every_revision = pytest.mark.parametrize("date", EVERY)
KEYS = {
    "tools/list": "tools",
    "prompts/list": "prompts",
    "resources/list": "resources",
    "resources/templates/list": "resourceTemplates",
}


async def walk(client: Client, method: str) -> list[list[str]]:
    """The names on each page, to the last; no two are asked of the same process."""
    pages, params = list[list[str]](), dict[str, Any]()
    while True:
        result = (await client.request(method, params)).result
        pages.append([each["name"] for each in result[KEYS[method]]])
        if "nextCursor" not in result:
            return pages
        params = {"cursor": result["nextCursor"]}


async def test_every_page_comes_from_any_process_of_the_fleet(launch_fleet: Launch) -> None:
    """Pagination, "Response Format" and "Request Format"."""
    fleet = launch_fleet(3, PAGE_SIZE="2")
    whole = launch_fleet(1)
    for date in EVERY:
        async with connected(fleet.url, date) as client, connected(whole.url, date) as other:
            for method in KEYS:
                pages = await walk(client, method)
                assert [name for page in pages for name in page] == (await walk(other, method))[0]
                assert {len(page) for page in pages[:-1]} <= {2}
                assert 1 <= len(pages[-1]) <= 2


@every_revision
async def test_without_a_page_size_there_is_one_page(fleet: Fleet, date: str) -> None:
    """Pagination, "Pagination Model": the server decides on the size of a page."""
    async with connected(fleet.url, date) as client:
        for method in KEYS:
            assert len(await walk(client, method)) == 1


@every_revision
async def test_a_cursor_that_no_list_gave_is_invalid_params(fleet: Fleet, date: str) -> None:
    """Pagination, "Error Handling": -32602."""
    async with connected(fleet.url, date) as client:
        for method in KEYS:
            for cursor in ("garbage", "", 5):
                answer = await client.request(method, {"cursor": cursor}, as_id="c")
                assert (answer.error["code"], answer.reply["id"]) == (-32602, "c")
                assert answer.status == (400 if date == MODERN else 200)
