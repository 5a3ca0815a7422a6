"""Skills listed, got and read (the extension `io.modelcontextprotocol/skills`)."""

import base64
from pathlib import Path
from typing import Any

import pytest

from mcpfleet import CacheHint, Principal, Resource, Server
from mcpfleet.protocol.revisions import LATEST_LEGACY
from mcpfleet.server.outcome import Success
from tests.server.methods.desk import Asking, asking
from tests.server.skills import manifest, written

FILES: dict[str, str | bytes] = {
    "a/SKILL.md": manifest("a", "The first."),
    "a/logo.png": b"\x89PNG",
    "a/parts/x.txt": "x",
    "a/parts/y.txt": "y",
    "b/SKILL.md": manifest("b", "The second."),
}
MISSING = ["skill://a", "skill://a/", "skill://a/skill.md", "skill://c/SKILL.md", "skill://b/../a/SKILL.md", "x", ""]


@pytest.fixture
def server(tmp_path: Path) -> Server:
    """Two skills, whose files are gone when the first request comes: they were read before."""
    folder = written(tmp_path / "skills", FILES)
    made = Server("s", cache=CacheHint(60, "public"))
    made.add_skills(folder)
    folder.rename(tmp_path / "elsewhere")
    return made


async def walk(desk: Asking, method: str, key: str, params: dict[str, Any]) -> list[list[str]]:
    """The URIs on each page, to the last."""
    pages, cursor = list[list[str]](), dict[str, Any]()
    while True:
        result = await desk.result(method, {**params, **cursor})
        pages.append([one["uri"] for one in result[key]])
        if "nextCursor" not in result:
            return pages
        cursor = {"cursor": result["nextCursor"]}


async def test_a_skill_that_is_listed_is_got_as_it_is_listed(server: Server) -> None:
    """The extension, "Getting a Skill": identical in shape and meaning to an entry of the list."""
    async with asking(server) as desk:
        listed = (await desk.result("skills/list"))["skills"]
        assert [each["uri"] for each in listed] == ["skill://a/SKILL.md", "skill://b/SKILL.md"]
        for each in listed:
            assert await desk.result("skills/get", {"uri": each["uri"]}) == {"skill": each}
    assert listed[1]["frontmatter"] == {"name": "b", "description": "The second."}
    assert [file["size"] for file in listed[0]["resources"]] == [len(FILES["a/SKILL.md"]), 4, 1, 1]


async def test_every_file_is_read_as_a_resource(server: Server) -> None:
    """The extension, "Reading Skill Content"."""
    async with asking(server) as desk:
        for path, content in FILES.items():
            [got] = (await desk.result("resources/read", {"uri": f"skill://{path}"}))["contents"]
            assert got["uri"] == f"skill://{path}"
            if isinstance(content, str):
                assert got["text"] == content
            else:
                assert (got["mimeType"], base64.b64decode(got["blob"])) == ("image/png", content)


async def test_only_the_manifests_are_listed_among_the_resources_after_registered_ones(server: Server) -> None:
    """The extension, "Resource Metadata": named and described by the frontmatter."""
    server.resource("x://registered")(lambda: "")
    server.list_resources(lambda: [Resource(uri=uri, name="found") for uri in ("x://found", "skill://a/SKILL.md")])
    async with asking(server) as desk:
        listed = (await desk.result("resources/list"))["resources"]
    assert [one["uri"] for one in listed] == ["x://registered", "skill://a/SKILL.md", "skill://b/SKILL.md", "x://found"]
    assert listed[1] == {
        "uri": "skill://a/SKILL.md",
        "name": "a",
        "description": "The first.",
        "mimeType": "text/markdown",
        "size": len(FILES["a/SKILL.md"]),
    }


async def test_a_directory_tells_what_is_right_below_it(server: Server) -> None:
    """The extension, "Reading Directories"."""
    async with asking(server) as desk:
        top = (await desk.result("resources/directory/read", {"uri": "skill://a"}))["resources"]
        parts = (await desk.result("resources/directory/read", {"uri": "skill://a/parts"}))["resources"]
    assert [(one["name"], one["mimeType"]) for one in top] == [
        ("a", "text/markdown"),
        ("logo.png", "image/png"),
        ("parts", "inode/directory"),
    ]
    assert [one["uri"] for one in parts] == ["skill://a/parts/x.txt", "skill://a/parts/y.txt"]


@pytest.mark.parametrize("uri", [*MISSING, "skill://a/logo.png"])
async def test_a_uri_of_no_skill_is_invalid_params(server: Server, uri: str) -> None:
    """The extension, "Error Handling"."""
    async with asking(server) as desk:
        refused = await desk.refusal("skills/get", {"uri": uri})
    assert (refused.code, refused.message, refused.data) == (-32602, f"Unknown skill: {uri}", {"uri": uri})


@pytest.mark.parametrize("uri", [*MISSING[1:], "skill://a/SKILL.md", "skill://a/parts/", "skill://"])
async def test_a_uri_of_no_directory_is_invalid_params(server: Server, uri: str) -> None:
    """The extension, "Error Handling"."""
    async with asking(server) as desk:
        refused = await desk.refusal("resources/directory/read", {"uri": uri})
    assert (refused.code, refused.message, refused.data) == (-32602, f"Not a directory: {uri}", {"uri": uri})


@pytest.mark.parametrize("uri", ["skill://a", "skill://a/parts", "skill://a/parts/../SKILL.md", "skill://a/.env"])
async def test_nothing_else_is_read(server: Server, uri: str) -> None:
    async with asking(server) as desk:
        assert (await desk.refusal("resources/read", {"uri": uri})).data == {"uri": uri}


@pytest.mark.parametrize("method", ["skills/get", "resources/directory/read"])
@pytest.mark.parametrize("params", [{}, {"uri": None}, {"uri": 1}])
async def test_a_uri_must_be_given(server: Server, method: str, params: dict[str, Any]) -> None:
    async with asking(server) as desk:
        refused = await desk.refusal(method, params)
    assert (refused.code, refused.message) == (-32602, "params.uri must be a string")


async def test_lists_come_in_pages_and_a_cursor_belongs_to_its_list(server: Server) -> None:
    """The extension, "Listing Skills" and "Reading Directories": an entry is never split."""
    async with asking(server, page_size=1) as desk:
        assert await walk(desk, "skills/list", "skills", {}) == [["skill://a/SKILL.md"], ["skill://b/SKILL.md"]]
        directory, parts = {"uri": "skill://a"}, {"uri": "skill://a/parts"}
        pages = await walk(desk, "resources/directory/read", "resources", directory)
        assert pages == [["skill://a/SKILL.md"], ["skill://a/logo.png"], ["skill://a/parts"]]
        cursors = [
            (await desk.result(method, params))["nextCursor"]
            for method, params in (
                ("skills/list", {}),
                ("resources/directory/read", directory),
                ("resources/directory/read", parts),
                ("resources/list", {}),
            )
        ]
        for place, (method, params) in enumerate([("skills/list", {}), ("resources/directory/read", directory)]):
            for number, cursor in enumerate(cursors):
                outcome = await desk.outcome(method, {**params, "cursor": cursor})
                assert isinstance(outcome, Success) is (number == place)


async def test_a_cursor_of_a_public_list_leads_on_for_anybody_and_of_a_directory_for_its_reader(server: Server) -> None:
    """Caching, "Cache Scope Field": pages out of a shared cache must lead on; a directory is in none."""
    ann, bob = Principal("ann"), Principal("bob")
    async with asking(server, page_size=1) as desk:
        for method, params, is_shared in (
            ("skills/list", {}, True),
            ("resources/directory/read", {"uri": "skill://a"}, False),
        ):
            cursor = (await desk.result(method, params, principal=ann))["nextCursor"]
            assert await desk.result(method, {**params, "cursor": cursor}, principal=ann)
            outcome = await desk.outcome(method, {**params, "cursor": cursor}, principal=bob)
            assert isinstance(outcome, Success) is is_shared


async def test_what_may_be_cached_says_so(server: Server) -> None:
    """The extension, "Listing Skills" and "Getting a Skill": cacheable, as reading is; a directory is not."""
    hint = CacheHint(60, "public")
    async with asking(server) as desk:
        for method, cache in (
            ("skills/list", hint),
            ("skills/get", hint),
            ("resources/read", hint),
            ("resources/directory/read", None),
        ):
            uri = "skill://a" if cache is None else "skill://a/SKILL.md"
            outcome = await desk.outcome(method, {"uri": uri})
            assert isinstance(outcome, Success)
            assert outcome.cache == cache


@pytest.mark.parametrize("method", ["skills/list", "skills/get", "resources/directory/read"])
async def test_without_skills_there_are_no_such_methods(method: str) -> None:
    async with asking(Server("s")) as desk:
        assert (await desk.refusal(method, {"uri": "skill://a"})).code == -32601


async def test_legacy_clients_have_the_same_methods(server: Server) -> None:
    async with asking(server) as desk:
        for method in ("skills/list", "skills/get", "resources/directory/read"):
            uri = "skill://a" if "directory" in method else "skill://a/SKILL.md"
            assert isinstance(await desk.outcome(method, {"uri": uri}, revision=LATEST_LEGACY), Success)


async def test_an_exact_resource_goes_before_a_skills_file_and_that_before_templates(server: Server) -> None:
    server.resource("skill://{name}/SKILL.md", name="t")(lambda name: f"template {name}")
    server.resource("skill://b/SKILL.md", name="r")(lambda: "resource")
    async with asking(server) as desk:
        read = [
            (await desk.result("resources/read", {"uri": f"skill://{name}/SKILL.md"}))["contents"][0]["text"]
            for name in ("a", "b", "c")
        ]
    assert read == [FILES["a/SKILL.md"], "resource", "template c"]
