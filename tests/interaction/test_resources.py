"""Resources and templates as each revision lists and reads them (server features, "Resources")."""

import base64
import json

import pytest

from tests.fleets import Fleet
from tests.wire import EVERY, LEGACY, MODERN, connected

every_revision = pytest.mark.parametrize("date", EVERY)
TITLED = ("2025-06-18", "2025-11-25", MODERN)
WITH_ICONS = ("2025-11-25", MODERN)
EXACT = ["config://app", "test://logo", "test://several", "users://me/profile", "notes://nobody/deep/first"]


@every_revision
async def test_resources_are_listed_in_order_and_in_words_that_the_revision_knows(fleet: Fleet, date: str) -> None:
    """Resources, "Listing Resources", "Resource" and "Annotations"."""
    async with connected(fleet.url, date) as client:
        lists = [(await client.request("resources/list")).result["resources"] for _ in fleet.processes]
    assert all(found == lists[0] for found in lists)
    assert [each["uri"] for each in lists[0]] == EXACT
    config = lists[0][0]
    assert (config["name"], config["mimeType"], config["size"]) == ("config", "application/json", 14)
    assert config["description"] == "The settings of the application."
    assert ("title" in config) is ("_meta" in config) is (date in TITLED)
    assert ("icons" in config) is (date in WITH_ICONS)
    assert config["annotations"] == {
        "audience": ["user"],
        "priority": 0.5,
        **({"lastModified": "2026-07-28T00:00:00Z"} if date in TITLED else {}),
    }


@every_revision
async def test_templates_are_listed_with_those_that_only_a_function_knows(fleet: Fleet, date: str) -> None:
    """Resources, "Resource Templates"."""
    async with connected(fleet.url, date) as client:
        profile, notes = (await client.request("resources/templates/list")).result["resourceTemplates"]
    assert (profile["uriTemplate"], profile["name"]) == ("users://{user_id}/profile", "profile")
    assert ("title" in profile) is ("_meta" in profile) is (date in TITLED)
    assert notes == {"uriTemplate": "notes://{+path}", "name": "notes"}


@every_revision
async def test_contents_are_text_or_base64_and_may_be_several(fleet: Fleet, date: str) -> None:
    """Resources, "Resource Contents" and "Reading Resources"."""
    async with connected(fleet.url, date) as client:

        async def contents(uri: str) -> list[dict[str, object]]:
            found: list[dict[str, object]] = (await client.request("resources/read", {"uri": uri})).result["contents"]
            return found

        assert await contents("config://app") == [
            {"uri": "config://app", "mimeType": "application/json", "text": '{"debug":true}'}
        ]
        [logo] = await contents("test://logo")
        assert (logo["mimeType"], base64.b64decode(str(logo["blob"]))) == ("image/png", b"\x89PNG")
        text, other = await contents("test://several")
        assert text == {"uri": "test://several", "mimeType": "text/plain", "text": "text"}
        assert (other["uri"], other["blob"]) == ("test://other", "aGk=")
        assert other.get("_meta") == ({"part": 2} if date in TITLED else None)


@every_revision
async def test_a_template_is_read_by_its_variables_and_an_exact_resource_wins(fleet: Fleet, date: str) -> None:
    """Resources, "Resource Templates": RFC 6570, level 1; values come as they are."""
    async with connected(fleet.url, date) as client:
        for user in ("42", "%2Fü", "a b".replace(" ", "%20")):
            uri = f"users://{user}/profile"
            [one] = (await client.request("resources/read", {"uri": uri})).result["contents"]
            assert one["uri"] == uri
            assert json.loads(one["text"]) == {"user": user, "asked_by": None}
        [one] = (await client.request("resources/read", {"uri": "users://me/profile"})).result["contents"]
        assert one["text"] == "me"


@every_revision
async def test_a_uri_that_nobody_registered_is_read_by_a_function(fleet: Fleet, date: str) -> None:
    """Resources, "Reading Resources"."""
    uri = "notes://nobody/deep/first"
    async with connected(fleet.url, date) as client:
        [one] = (await client.request("resources/read", {"uri": uri})).result["contents"]
    assert one == {"uri": uri, "mimeType": "text/plain", "text": f"note at {uri}"}


@every_revision
@pytest.mark.parametrize("uri", ["users://4/2/profile", "notes://second", "config://other", "users:///profile"])
async def test_a_resource_that_does_not_exist_is_told_by_the_revisions_own_code(
    fleet: Fleet, date: str, uri: str
) -> None:
    """Resources, "Error Handling": -32602 with the URI in `data`, and -32002 before that; never empty contents."""
    async with connected(fleet.url, date) as client:
        answer = await client.request("resources/read", {"uri": uri}, as_id="r")
    assert answer.error == {
        "code": -32602 if date == MODERN else -32002,
        "message": "Resource not found",
        "data": {"uri": uri},
    }
    assert (answer.status, answer.reply["id"]) == (400 if date == MODERN else 200, "r")


@every_revision
async def test_what_is_no_uri_is_invalid_params(fleet: Fleet, date: str) -> None:
    """Resources, "Security Considerations": servers MUST validate all resource URIs."""
    async with connected(fleet.url, date) as client:
        for params in ({"uri": "../etc/passwd"}, {"uri": "users://a b/profile"}, {"uri": 5}, {}):
            answer = await client.request("resources/read", params)
            assert answer.error["code"] == -32602


async def test_a_modern_result_tells_how_long_it_stays_fresh(fleet: Fleet) -> None:
    """Caching, "Cacheable Results"."""
    async with connected(fleet.url, MODERN) as client:
        for method in ("tools/list", "prompts/list", "resources/list", "resources/templates/list"):
            result = (await client.request(method)).result
            assert (result["ttlMs"], result["cacheScope"]) == (0, "private")
        result = (await client.request("resources/read", {"uri": "config://app"})).result
        assert (result["ttlMs"], result["cacheScope"]) == (60_000, "public")
        result = (await client.request("resources/read", {"uri": "test://logo"})).result
        assert (result["ttlMs"], result["cacheScope"]) == (0, "private")


@pytest.mark.parametrize("date", LEGACY)
async def test_a_legacy_result_does_not(fleet: Fleet, date: str) -> None:
    """Lifecycle, "Operation": the agreed revision knows no hints for caches."""
    async with connected(fleet.url, date) as client:
        result = (await client.request("resources/read", {"uri": "config://app"})).result
    assert result.keys() == {"contents"}


@every_revision
async def test_what_a_server_offers_is_declared(fleet: Fleet, date: str) -> None:
    """Prompts, "Capabilities", and likewise Resources and Completion: what is there MUST be declared."""
    async with connected(fleet.url, date) as client:
        answer = await client.request("server/discover") if client.modern else await client.initialize()
    declared = answer.result["capabilities"]
    assert {"tools", "prompts", "resources", "logging"} <= declared.keys()
    assert ("completions" in declared) is (date != "2024-11-05")
