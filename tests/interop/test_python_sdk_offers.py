"""The official Python SDK's client lists, reads, fills in and completes, in both eras, behind the hostile balancer."""

import base64
import json

import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError
from mcp_types import (
    BlobResourceContents,
    PromptReference,
    ResourceTemplateReference,
    TextContent,
    TextResourceContents,
)

from tests import wire
from tests.fleets import Fleet, Launch, Shape

THREE = pytest.mark.parametrize("fleet", [Shape("redis", 3)], indirect=True, ids=str)
both_eras = pytest.mark.parametrize("mode", ["legacy", "auto"])


@THREE
@both_eras
async def test_it_fills_in_prompts(fleet: Fleet, mode: str) -> None:
    async with Client(fleet.url, mode=mode) as client:
        prompts = {prompt.name: prompt for prompt in (await client.list_prompts()).prompts}
        result = await client.get_prompt("review", {"code": "x = 1", "depth": "2"})
        media = await client.get_prompt("media")
        with pytest.raises(MCPError) as refused:
            await client.get_prompt("review", {})
    assert [argument.name for argument in prompts["review"].arguments or ()] == ["code", "depth"]
    [message] = result.messages
    assert message.content == TextContent(text="Review 2 deep: x = 1")
    kinds = [message.content.type for message in media.messages]
    assert kinds == ["text", "image", "audio", "resource", "resource_link", "text"]
    assert refused.value.error.code == -32602


@THREE
@both_eras
async def test_it_reads_resources_of_every_kind(fleet: Fleet, mode: str) -> None:
    async with Client(fleet.url, mode=mode) as client:
        listed = [resource.uri for resource in (await client.list_resources()).resources]
        templates = [each.uri_template for each in (await client.list_resource_templates()).resource_templates]
        [config] = (await client.read_resource("config://app")).contents
        [logo] = (await client.read_resource("test://logo")).contents
        [profile] = (await client.read_resource("users://42/profile")).contents
        [note] = (await client.read_resource("notes://a/b/first")).contents
        with pytest.raises(MCPError) as missing:
            await client.read_resource("config://absent")
    assert listed[:2] == ["config://app", "test://logo"]
    assert templates == ["users://{user_id}/profile", "notes://{+path}"]
    assert isinstance(config, TextResourceContents)
    assert (json.loads(config.text), config.mime_type) == ({"debug": True}, "application/json")
    assert isinstance(logo, BlobResourceContents)
    assert base64.b64decode(logo.blob) == b"\x89PNG"
    assert isinstance(profile, TextResourceContents)
    assert json.loads(profile.text)["user"] == "42"
    assert isinstance(note, TextResourceContents)
    assert missing.value.error.code == (-32002 if mode == "legacy" else -32602)
    assert missing.value.error.data == {"uri": "config://absent"}


@THREE
@both_eras
async def test_it_completes_arguments(fleet: Fleet, mode: str) -> None:
    async with Client(fleet.url, mode=mode) as client:
        code = await client.complete(
            PromptReference(name="review"), {"name": "code", "value": "x"}, context_arguments={"depth": "2"}
        )
        users = await client.complete(
            ResourceTemplateReference(uri="users://{user_id}/profile"), {"name": "user_id", "value": "u"}
        )
    assert code.completion.values == ["x0", "x1"]
    assert (len(users.completion.values), users.completion.total, users.completion.has_more) == (100, 150, True)


@both_eras
async def test_it_walks_through_pages(launch_fleet: Launch, mode: str) -> None:
    fleet = launch_fleet(3, PAGE_SIZE="2")
    async with Client(fleet.url, mode=mode) as client:
        names, cursor = list[str](), None
        for _ in range(10):
            page = await client.list_resources(cursor=cursor)
            names += [resource.name for resource in page.resources]
            cursor = page.next_cursor
            if cursor is None:
                break
        with pytest.raises(MCPError) as refused:
            await client.list_resources(cursor="garbage")
    assert names == ["config", "logo", "several", "mine", "nobody's note"]
    assert refused.value.error.code == -32602


@THREE
async def test_it_keeps_what_may_be_kept(fleet: Fleet) -> None:
    """The modern client honours `ttlMs`: what is fresh for a minute is asked for once."""
    async with Client(fleet.url, mode="auto") as client:
        assert client.protocol_version == wire.MODERN
        first = await client.read_resource("config://app")
        before = len(fleet.balancer.served)
        assert await client.read_resource("config://app") == first
        kept = len(fleet.balancer.served)
        await client.read_resource("test://logo")
        await client.read_resource("test://logo")
    assert kept == before
    assert len(fleet.balancer.served) == kept + 2
