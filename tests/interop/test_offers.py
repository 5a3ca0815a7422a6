"""The official clients and prompts, resources and completion, in every era and over every transport."""

import base64
import json

import pytest

from tests.fleets import Fleet
from tests.interop.driver import Connection, Refused
from tests.interop.subjects import MODERN, Subject, shows


@shows("prompts")
async def test_it_lists_prompts_with_their_arguments(client: Connection) -> None:
    prompts = {prompt["name"]: prompt for prompt in (await client.request("prompts/list"))["prompts"]}
    assert {"review", "greet", "media", "ask_about"} <= {*prompts}
    assert prompts["review"]["title"] == "Code review"
    code, depth = prompts["review"]["arguments"]
    code.pop("title", None)  # which the TypeScript clients leave out
    assert code == {"name": "code", "description": "What to review.", "required": True}
    assert depth == {"name": "depth"}


@shows("prompts")
async def test_it_fills_in_a_prompt(client: Connection) -> None:
    result = await client.request("prompts/get", {"name": "review", "arguments": {"code": "x = 1", "depth": "2"}})
    [message] = result["messages"]
    assert message == {"role": "user", "content": {"type": "text", "text": "Review 2 deep: x = 1"}}


@shows("prompts")
async def test_it_gets_messages_of_every_kind(client: Connection, subject: Subject) -> None:
    messages = (await client.request("prompts/get", {"name": "media"}))["messages"]
    kinds = [message["content"]["type"] for message in messages]
    assert kinds == ["text", "image", "audio", "resource", "resource_link", "text"]
    assert messages[-1] == {"role": "assistant", "content": {"type": "text", "text": f"in {subject.version}"}}


@shows("prompts")
@pytest.mark.parametrize(
    "params", [{"name": "review", "arguments": {}}, {"name": "nothing"}], ids=["incomplete", "unknown"]
)
async def test_it_is_refused_a_prompt_that_cannot_be_had(client: Connection, params: dict[str, object]) -> None:
    with pytest.raises(Refused) as refused:
        await client.request("prompts/get", params)
    assert refused.value.code == -32602


@shows("resources")
async def test_it_lists_resources_of_every_origin(client: Connection) -> None:
    found = (await client.request("resources/list"))["resources"]
    resources = {resource["uri"]: resource for resource in found}
    assert {"config://app", "test://logo", "users://me/profile", "notes://nobody/deep/first"} <= {*resources}
    config = resources["config://app"]
    assert (config["title"], config["mimeType"], config["size"]) == ("Settings", "application/json", 14)
    assert config["annotations"] == {
        "audience": ["user"],
        "priority": 0.5,
        "lastModified": "2026-07-28T00:00:00Z",
    }


@shows("resources")
async def test_it_lists_templates(client: Connection) -> None:
    found = (await client.request("resources/templates/list"))["resourceTemplates"]
    templates = [template["uriTemplate"] for template in found]
    assert templates == ["users://{user_id}/profile", "secret://{name}", "notes://{+path}"]


@shows("resources")
async def test_it_reads_text_and_bytes(client: Connection) -> None:
    [config] = (await client.request("resources/read", {"uri": "config://app"}))["contents"]
    assert (json.loads(config["text"]), config["mimeType"]) == ({"debug": True}, "application/json")
    [logo] = (await client.request("resources/read", {"uri": "test://logo"}))["contents"]
    assert (base64.b64decode(logo["blob"]), logo["mimeType"]) == (b"\x89PNG", "image/png")
    several = (await client.request("resources/read", {"uri": "test://several"}))["contents"]
    assert [content.get("text", content.get("blob")) for content in several] == ["text", "aGk="]


@shows("resources")
async def test_it_reads_what_only_a_template_or_a_handler_knows(client: Connection) -> None:
    [profile] = (await client.request("resources/read", {"uri": "users://42/profile"}))["contents"]
    assert json.loads(profile["text"])["user"] == "42"
    [exact] = (await client.request("resources/read", {"uri": "users://me/profile"}))["contents"]
    assert exact["text"] == "me"
    [note] = (await client.request("resources/read", {"uri": "notes://a/b/first"}))["contents"]
    assert note["text"] == "note at notes://a/b/first"


@shows("resources")
async def test_it_is_told_that_a_resource_is_not_there(client: Connection, subject: Subject) -> None:
    with pytest.raises(Refused) as missing:
        await client.request("resources/read", {"uri": "config://absent"})
    in_its_place = subject.modern or subject.client == "typescript"  # which turns the older code into the newer
    assert missing.value.code == (-32602 if in_its_place else -32002)
    assert missing.value.data == {"uri": "config://absent"}


@shows("completion")
async def test_it_completes_an_argument_of_a_prompt_by_the_others(client: Connection) -> None:
    reference = {"type": "ref/prompt", "name": "review"}
    params = {"ref": reference, "argument": {"name": "code", "value": "x"}, "context": {"arguments": {"depth": "2"}}}
    assert (await client.request("completion/complete", params))["completion"]["values"] == ["x0", "x1"]


@shows("completion")
async def test_it_gets_a_hundred_completions_and_is_told_that_there_are_more(client: Connection) -> None:
    reference = {"type": "ref/resource", "uri": "users://{user_id}/profile"}
    params = {"ref": reference, "argument": {"name": "user_id", "value": "u"}}
    completion = (await client.request("completion/complete", params))["completion"]
    assert len(completion["values"]) == 100
    assert (completion["total"], completion["hasMore"]) == (150, True)


@shows("completion")
async def test_it_is_refused_completions_of_nothing(client: Connection) -> None:
    params = {"ref": {"type": "ref/prompt", "name": "nothing"}, "argument": {"name": "a", "value": ""}}
    with pytest.raises(Refused) as refused:
        await client.request("completion/complete", params)
    assert refused.value.code == -32602


@shows("custom methods")
async def test_it_calls_methods_that_no_revision_has(client: Connection, subject: Subject) -> None:
    result = await client.request("acme/add", {"a": 1, "b": 2})
    assert (result["sum"], result["revision"]) == (3, subject.version)
    with pytest.raises(Refused) as unknown:
        await client.request("acme/nothing", {})
    # The answer has status 404, as it must, for which one client has an error of its own, with the answer inside.
    assert unknown.value.code == -32601 or '"code":-32601' in unknown.value.data["text"]


@shows("ping")
async def test_it_pings_and_is_pinged(client: Connection) -> None:
    assert await client.request("ping") == {}
    assert await client.call("ask_ping_back") == "there"


@shows("freshness", "http")
async def test_it_asks_but_once_for_what_stays_fresh(client: Connection, served: Fleet) -> None:
    first = await client.request("resources/read", {"uri": "config://app"})
    before = len(served.balancer.served)
    assert await client.request("resources/read", {"uri": "config://app"}) == first
    assert len(served.balancer.served) == before
    await client.request("resources/read", {"uri": "test://logo"})
    await client.request("resources/read", {"uri": "test://logo"})
    assert len(served.balancer.served) == before + 2


@shows("discovery")
async def test_it_discovers_what_the_server_is_and_can(client: Connection) -> None:
    found = await client.request("server/discover")
    assert MODERN in found["supportedVersions"]
    assert found["capabilities"]["extensions"]["com.example/feature"] == {"level": 2}
    assert found["instructions"] == "Ask for anything."


@shows("introductions")
async def test_it_knows_what_the_server_is_and_can(client: Connection, subject: Subject) -> None:
    server, can = client.about["server"], client.about["capabilities"]
    assert (server["name"], server["version"]) == ("everything", "1.0.0")
    assert client.about["instructions"] == "Ask for anything."
    assert can["resources"] == {"subscribe": True, "listChanged": True}
    assert can["extensions"]["com.example/feature"] == {"level": 2}
    assert (await client.call("whoami"))["revision"] == subject.version
