"""Skills in either era, on any process (the extension `io.modelcontextprotocol/skills`)."""

import base64
import hashlib

import pytest

from tests.fleets import Fleet, Launch
from tests.servers.skilled import FILES
from tests.wire import EVERY, MODERN, Client, connected

every_revision = pytest.mark.parametrize("date", EVERY)
SKILLS = ["skill://drawing/SKILL.md", "skill://office/billing/refunds/SKILL.md"]
BRUSHES = ["skill://drawing/brushes/fine.png", "skill://drawing/brushes/notes.txt"]
NAME = "io.modelcontextprotocol/skills"


async def content(client: Client, uri: str) -> bytes:
    """The bytes of a file, as a host gets them."""
    [found] = (await client.request("resources/read", {"uri": uri})).result["contents"]
    assert found["uri"] == uri
    return found["text"].encode() if "text" in found else base64.b64decode(found["blob"])


@every_revision
async def test_the_extension_is_declared_with_directories_and_so_are_resources(skilled_fleet: Fleet, date: str) -> None:
    """The extension, "Capability Negotiation"."""
    async with connected(skilled_fleet.url, date) as client:
        hello = client.request("server/discover") if date == MODERN else client.initialize()
        declared = (await hello).result["capabilities"]
    assert declared["extensions"] == {NAME: {"directoryRead": True}}
    assert "resources" in declared


@every_revision
async def test_every_process_lists_the_same_skills_in_the_same_order(skilled_fleet: Fleet, date: str) -> None:
    """The extension, "Listing Skills" and "Frontmatter"."""
    async with connected(skilled_fleet.url, date) as client:
        lists = [(await client.request("skills/list")).result["skills"] for _ in skilled_fleet.processes]
        assert all(found == lists[0] for found in lists)
        assert [each["uri"] for each in lists[0]] == SKILLS
        for each in lists[0]:
            assert (await client.request("skills/get", {"uri": each["uri"]})).result["skill"] == each
    assert lists[0][0]["frontmatter"] == {
        "name": "drawing",
        "description": "Draws.",
        "metadata": {"title": "Art", "since": "2026-01-31"},
    }


@every_revision
async def test_what_any_process_reads_is_what_another_has_listed(skilled_fleet: Fleet, date: str) -> None:
    """The extension, "Verification on Read": as many bytes, and the same digest."""
    async with connected(skilled_fleet.url, date) as client:
        verified = dict[str, bytes]()
        for skill in (await client.request("skills/list")).result["skills"]:
            for file in skill["resources"]:
                data = await content(client, file["uri"])
                assert (len(data), f"sha256:{hashlib.sha256(data).hexdigest()}") == (file["size"], file["digest"])
                verified[file["uri"].removeprefix("skill://")] = data
    served = {name: text for name, text in FILES.items() if ".env" not in name and name != "office/notes.txt"}
    assert verified == {name: text.encode() if isinstance(text, str) else text for name, text in served.items()}


@every_revision
async def test_directories_lead_from_a_skill_to_each_of_its_files(skilled_fleet: Fleet, date: str) -> None:
    """The extension, "Reading Directories"."""
    async with connected(skilled_fleet.url, date) as client:
        found, waiting = list[str](), ["skill://drawing"]
        while waiting:
            answer = await client.request("resources/directory/read", {"uri": waiting.pop()})
            for child in answer.result["resources"]:
                (waiting if child["mimeType"] == "inode/directory" else found).append(child["uri"])
    names = ["SKILL.md", "draw.sh", "brushes/fine.png", "brushes/notes.txt"]
    assert found == [f"skill://drawing/{name}" for name in names]


@every_revision
@pytest.mark.parametrize(
    ("method", "uri"),
    [
        ("skills/get", "skill://drawing"),
        ("skills/get", "skill://drawing/draw.sh"),
        ("resources/directory/read", "skill://drawing/SKILL.md"),
        ("resources/directory/read", "skill://office/billing"),
        ("resources/directory/read", "skill://drawing/nothing"),
    ],
)
async def test_a_uri_of_something_else_is_invalid_params(
    skilled_fleet: Fleet, date: str, method: str, uri: str
) -> None:
    """The extension, "Error Handling"."""
    async with connected(skilled_fleet.url, date) as client:
        answer = await client.request(method, {"uri": uri}, as_id="s")
    assert (answer.error["code"], answer.error["data"], answer.reply["id"]) == (-32602, {"uri": uri}, "s")


@every_revision
@pytest.mark.parametrize(
    "uri",
    [
        *("skill://drawing/.env", "skill://office/notes.txt", "skill://drawing/../office/notes.txt"),
        *("skill://drawing/brushes/..%2f.env", "skill://drawing/%2e%65nv", "skill:///etc/passwd", "skill://drawing"),
    ],
)
async def test_what_is_no_file_of_a_skill_is_no_resource(skilled_fleet: Fleet, date: str, uri: str) -> None:
    """Resources, "Error Handling"."""
    async with connected(skilled_fleet.url, date) as client:
        answer = await client.request("resources/read", {"uri": uri})
    assert answer.error["code"] == (-32602 if date == MODERN else -32002)
    assert b"hunter2" not in answer.body


async def test_a_modern_result_tells_that_it_is_complete_and_for_how_long(skilled_fleet: Fleet) -> None:
    """The extension, "Listing Skills" and "Getting a Skill"."""
    fresh = {"resultType": "complete", "ttlMs": 60_000, "cacheScope": "public"}
    async with connected(skilled_fleet.url, MODERN) as client:
        for method, params in (("skills/list", {}), ("skills/get", {"uri": SKILLS[0]})):
            result = (await client.request(method, params)).result
            assert {name: result.get(name) for name in fresh} == fresh
        result = (await client.request("resources/directory/read", {"uri": "skill://drawing"})).result
    assert result["resultType"] == "complete"
    assert result.keys().isdisjoint({"ttlMs", "cacheScope"})


async def test_pages_of_skills_and_directories_come_from_any_process(launch_fleet: Launch) -> None:
    """The extension, "Listing Skills": an entry is never split."""
    fleet = launch_fleet(3, server="tests.servers.skilled:server", PAGE_SIZE="1")
    for date in EVERY:
        async with connected(fleet.url, date) as client:
            for method, key, params, uris in (
                ("skills/list", "skills", {}, SKILLS),
                ("resources/directory/read", "resources", {"uri": "skill://drawing/brushes"}, BRUSHES),
            ):
                found, cursor = list[str](), dict[str, str]()
                while True:
                    result = (await client.request(method, {**params, **cursor})).result
                    found += [one["uri"] for one in result[key]]
                    if "nextCursor" not in result:
                        break
                    assert len(result[key]) == 1
                    cursor = {"cursor": result["nextCursor"]}
                assert found == uris
