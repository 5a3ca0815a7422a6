"""Results and notifications as they are on the wire."""

from typing import Any

import msgspec
import pytest

from mcpfleet.protocol.messages import (
    Annotations,
    CallToolResult,
    Cancelled,
    CompleteResult,
    Completion,
    DiscoverResult,
    GetPromptResult,
    GetSkillResult,
    Implementation,
    InitializeResult,
    ListChangedCapability,
    ListPromptsResult,
    ListResourcesResult,
    ListResourceTemplatesResult,
    ListSkillsResult,
    ListToolsResult,
    LogMessage,
    Progress,
    Prompt,
    PromptArgument,
    PromptMessage,
    ReadDirectoryResult,
    ReadResourceResult,
    Resource,
    ResourceContents,
    ResourcesCapability,
    ResourceTemplate,
    ServerCapabilities,
    Skill,
    SkillResource,
    TextContent,
    Tool,
    ToolAnnotations,
)

SCHEMA = {"type": "object", "properties": {}}
CAPABILITIES = ServerCapabilities(
    tools=ListChangedCapability(list_changed=True),
    prompts=ListChangedCapability(),
    resources=ResourcesCapability(subscribe=True),
    logging={},
    completions={},
    extensions={"acme/x": {}},
)
DECLARED = {
    "tools": {"listChanged": True},
    "prompts": {},
    "resources": {"subscribe": True},
    "logging": {},
    "completions": {},
    "extensions": {"acme/x": {}},
}
SKILL = Skill(
    uri="skill://a/SKILL.md",
    frontmatter={"name": "a", "description": "b", "c": None},
    resources=[SkillResource(uri="skill://a/SKILL.md", digest="sha256:0", size=0)],
)
LISTED = {
    "uri": "skill://a/SKILL.md",
    "frontmatter": {"name": "a", "description": "b", "c": None},
    "resources": [{"uri": "skill://a/SKILL.md", "digest": "sha256:0", "size": 0}],
}

MESSAGES: list[tuple[msgspec.Struct, dict[str, Any]]] = [
    (
        ListToolsResult(
            tools=[Tool(name="a", input_schema=SCHEMA, annotations=ToolAnnotations(read_only_hint=False))],
            next_cursor="c",
        ),
        {
            "tools": [{"name": "a", "inputSchema": SCHEMA, "annotations": {"readOnlyHint": False}}],
            "nextCursor": "c",
        },
    ),
    (
        CallToolResult(content=[TextContent("a")], structured_content=None, is_error=True, meta={"b": 1}),
        {"content": [{"type": "text", "text": "a"}], "structuredContent": None, "isError": True, "_meta": {"b": 1}},
    ),
    (CallToolResult(content=[]), {"content": []}),
    (
        ListPromptsResult(
            prompts=[
                Prompt(name="a", arguments=[PromptArgument("b", title="B", required=True), PromptArgument("c")]),
                Prompt(name="d", description="D"),
            ],
            next_cursor="c",
        ),
        {
            "prompts": [
                {"name": "a", "arguments": [{"name": "b", "title": "B", "required": True}, {"name": "c"}]},
                {"name": "d", "description": "D"},
            ],
            "nextCursor": "c",
        },
    ),
    (
        GetPromptResult(messages=[PromptMessage.user("a"), PromptMessage.assistant(TextContent("b"))], description="d"),
        {
            "messages": [
                {"role": "user", "content": {"type": "text", "text": "a"}},
                {"role": "assistant", "content": {"type": "text", "text": "b"}},
            ],
            "description": "d",
        },
    ),
    (
        ListResourcesResult(
            resources=[Resource(uri="test://a", name="a", size=0, annotations=Annotations(priority=1))],
        ),
        {"resources": [{"uri": "test://a", "name": "a", "size": 0, "annotations": {"priority": 1}}]},
    ),
    (
        ListResourceTemplatesResult(
            resource_templates=[ResourceTemplate(uri_template="test://{a}", name="a", mime_type="text/plain")]
        ),
        {"resourceTemplates": [{"uriTemplate": "test://{a}", "name": "a", "mimeType": "text/plain"}]},
    ),
    (
        ReadResourceResult(contents=[ResourceContents("test://a", "t")], ttl_ms=5, cache_scope="public"),
        {"contents": [{"uri": "test://a", "text": "t"}], "ttlMs": 5, "cacheScope": "public"},
    ),
    (ListSkillsResult(skills=[SKILL], next_cursor="c"), {"skills": [LISTED], "nextCursor": "c"}),
    (GetSkillResult(skill=SKILL), {"skill": LISTED}),
    (
        ReadDirectoryResult(resources=[Resource(uri="skill://a/b", name="b", mime_type="inode/directory")]),
        {"resources": [{"uri": "skill://a/b", "name": "b", "mimeType": "inode/directory"}]},
    ),
    (
        CompleteResult(completion=Completion(["a"], total=2, has_more=True)),
        {"completion": {"values": ["a"], "total": 2, "hasMore": True}},
    ),
    (
        InitializeResult(
            protocol_version="2025-11-25",
            capabilities=CAPABILITIES,
            server_info=Implementation(name="s", version="1", website_url="https://x"),
            instructions="i",
        ),
        {
            "protocolVersion": "2025-11-25",
            "capabilities": DECLARED,
            "serverInfo": {"name": "s", "version": "1", "websiteUrl": "https://x"},
            "instructions": "i",
        },
    ),
    (
        DiscoverResult(supported_versions=["2026-07-28"], capabilities=CAPABILITIES),
        {"supportedVersions": ["2026-07-28"], "capabilities": DECLARED},
    ),
    (
        Progress(progress_token=0, progress=1.5, total=3, message="m"),
        {"progressToken": 0, "progress": 1.5, "total": 3, "message": "m"},
    ),
    (LogMessage(level="info", data=None), {"level": "info", "data": None}),
    (Cancelled(request_id="r", reason="why"), {"requestId": "r", "reason": "why"}),
]


@pytest.mark.parametrize(("message", "wire"), MESSAGES, ids=lambda value: type(value).__name__)
def test_a_message_is_written_in_the_protocols_words_and_read_back(
    message: msgspec.Struct, wire: dict[str, Any]
) -> None:
    assert msgspec.to_builtins(message) == wire
    assert msgspec.convert(wire, type=type(message)) == message


def test_structured_content_that_is_null_is_not_structured_content_that_is_absent() -> None:
    assert msgspec.convert({"content": []}, type=CallToolResult).structured_content is msgspec.UNSET
    assert msgspec.convert({"content": [], "structuredContent": None}, type=CallToolResult).structured_content is None


@pytest.mark.parametrize(
    ("notification", "method"),
    [
        (Progress, "notifications/progress"),
        (LogMessage, "notifications/message"),
        (Cancelled, "notifications/cancelled"),
    ],
)
def test_a_notification_knows_its_method(notification: type[Progress | LogMessage | Cancelled], method: str) -> None:
    assert method == notification.METHOD


@pytest.mark.parametrize("token", [1.5, True, None, []])
def test_a_progress_token_is_a_string_or_an_integer(token: Any) -> None:
    """Progress, "Progress Flow"."""
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert({"progressToken": token, "progress": 1}, type=Progress)
