"""One result, dressed for each revision."""

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import msgspec
import pytest

from mcpfleet.protocol import jsonrpc, jsontext, older, revisions
from mcpfleet.protocol.jsontext import NotJson
from mcpfleet.protocol.messages import (
    Annotations,
    AudioContent,
    CallToolResult,
    CompleteResult,
    Completion,
    ContentBlock,
    DiscoverResult,
    EmbeddedResource,
    GetPromptResult,
    Icon,
    ImageContent,
    Implementation,
    InitializeResult,
    ListChangedCapability,
    ListPromptsResult,
    ListResourcesResult,
    ListResourceTemplatesResult,
    ListToolsResult,
    Prompt,
    PromptArgument,
    PromptMessage,
    ReadDirectoryResult,
    ReadResourceResult,
    Resource,
    ResourceContents,
    ResourceLink,
    ResourceTemplate,
    ServerCapabilities,
    TextContent,
    Tool,
    ToolAnnotations,
)
from mcpfleet.protocol.revisions import Era, Revision
from mcpfleet.protocol.wire import CacheHint, Result, dress, renumber

FIRST, SECOND, THIRD, FOURTH, MODERN = revisions.REVISIONS
LEGACY = [FIRST, SECOND, THIRD, FOURTH]
SERVER = {"name": "s", "version": "1"}
STAMP = {"_meta": {"io.modelcontextprotocol/serverInfo": SERVER}}

every = pytest.mark.parametrize("revision", revisions.REVISIONS, ids=lambda revision: revision.date)
every_legacy = pytest.mark.parametrize("revision", LEGACY, ids=lambda revision: revision.date)


def dressed(result: Result | Mapping[str, Any], revision: Revision, **options: Any) -> dict[str, Any]:
    return dress(result, revision, server_info=SERVER, **options)


def test_a_modern_result_says_that_it_is_complete_and_who_made_it() -> None:
    """Overview, "Result Responses": `resultType` MUST be there; "_meta": serverInfo SHOULD be."""
    assert dressed({}, MODERN) == {"resultType": "complete", **STAMP}
    assert dressed(CallToolResult(content=[TextContent("a")]), MODERN) == {
        "content": [{"type": "text", "text": "a"}],
        "resultType": "complete",
        **STAMP,
    }


@every_legacy
def test_an_older_result_has_nothing_of_that(revision: Revision) -> None:
    newest = {"a": 1, "resultType": "complete", "ttlMs": 0, "cacheScope": "private", "_meta": {"b": 2}}
    assert dressed(newest, revision, cache=CacheHint(5)) == {"a": 1, "_meta": {"b": 2}}
    assert dressed({}, revision) == {}


def test_dressing_leaves_the_given_mapping_alone() -> None:
    result = {"resultType": "complete", "_meta": {"b": 2}}
    for revision in revisions.REVISIONS:
        dressed(result, revision, cache=CacheHint())
    assert result == {"resultType": "complete", "_meta": {"b": 2}}


def test_the_stamp_joins_the_results_own_meta_and_is_left_out_when_there_is_none() -> None:
    result = CallToolResult(content=[], meta={"a": 1, "io.modelcontextprotocol/serverInfo": "forged"})
    assert dressed(result, MODERN)["_meta"] == {"a": 1, "io.modelcontextprotocol/serverInfo": SERVER}
    assert dress({}, MODERN, server_info={}) == {"resultType": "complete"}


@pytest.mark.parametrize(
    ("hint", "fields"),
    [
        (CacheHint(), {"ttlMs": 0, "cacheScope": "private"}),
        (CacheHint(ttl=1.5, scope="public"), {"ttlMs": 1500, "cacheScope": "public"}),
        (CacheHint(ttl=-1), {"ttlMs": 0, "cacheScope": "private"}),
        (None, {}),
    ],
)
def test_a_cache_hint_is_whole_milliseconds_and_never_negative(hint: CacheHint | None, fields: dict[str, Any]) -> None:
    """Caching, "Time-to-Live (TTL) Field": servers MUST provide a `ttlMs` >= 0."""
    assert dressed({}, MODERN, cache=hint) == {"resultType": "complete", **STAMP, **fields}


def test_a_result_that_asks_for_input_is_never_cacheable() -> None:
    """Caching, "Cacheable Results": interim results carry no hints."""
    assert dressed({"resultType": "input_required"}, MODERN, cache=CacheHint()) == {
        "resultType": "input_required",
        **STAMP,
    }


TOOL = Tool(
    name="t",
    title="T",
    description="d",
    input_schema={"type": "object"},
    output_schema={"type": "object", "properties": {"a": {"type": "integer"}}},
    annotations=ToolAnnotations(title="T"),
    icons=[Icon(src="https://x/i.png")],
    meta={"m": 1},
)
EVERYWHERE = {"name", "description", "inputSchema"}


@pytest.mark.parametrize(
    ("revision", "known"),
    [
        (FIRST, EVERYWHERE),
        (SECOND, EVERYWHERE | {"annotations"}),
        (THIRD, EVERYWHERE | {"annotations", "title", "outputSchema", "_meta"}),
        (FOURTH, EVERYWHERE | {"annotations", "title", "outputSchema", "_meta", "icons"}),
        (MODERN, EVERYWHERE | {"annotations", "title", "outputSchema", "_meta", "icons"}),
    ],
)
def test_a_tool_is_listed_with_what_the_revision_knows(revision: Revision, known: set[str]) -> None:
    body = dressed(ListToolsResult(tools=[TOOL], next_cursor="c"), revision)
    (tool,) = body["tools"]
    assert set(tool) == known
    assert body["nextCursor"] == "c"


ARRAY = {"$schema": "http://json-schema.org/draft-07/schema#", "type": "array", "items": {"$ref": "#/$defs/n"}}


@pytest.mark.parametrize("revision", [THIRD, FOURTH])
def test_an_output_schema_that_is_no_object_is_wrapped_before_the_newest_revision(revision: Revision) -> None:
    schema = {**ARRAY, "$defs": {"n": {"type": "integer"}}}
    tool = Tool(name="t", input_schema={"type": "object"}, output_schema=schema)
    (listed,) = dressed(ListToolsResult(tools=[tool]), revision)["tools"]
    assert listed["outputSchema"] == {
        "$schema": ARRAY["$schema"],
        "type": "object",
        "properties": {
            "result": {
                "type": "array",
                "items": {"$ref": "#/properties/result/$defs/n"},
                "$defs": {"n": {"type": "integer"}},
            }
        },
        "required": ["result"],
    }


def test_the_newest_revision_has_any_output_schema() -> None:
    """Tools, "Output Schema"."""
    tool = Tool(name="t", input_schema={"type": "object"}, output_schema=ARRAY)
    (listed,) = dressed(ListToolsResult(tools=[tool]), MODERN)["tools"]
    assert listed["outputSchema"] == ARRAY


@pytest.mark.parametrize(
    ("value", "schema", "wrapped"),
    [
        ({"a": 1}, None, False),
        ([1], None, True),
        (None, None, True),
        ("x", None, True),
        ({"a": 1}, {"type": "object"}, False),
        ([1], {"type": "array"}, True),
        ({"a": 1}, {"anyOf": [{"type": "object"}, {"type": "null"}]}, True),
        (None, {"anyOf": [{"type": "object"}, {"type": "null"}]}, True),
        ({"a": 1}, {"type": ["object", "null"]}, True),
    ],
)
@pytest.mark.parametrize("revision", [THIRD, FOURTH])
def test_structured_output_is_wrapped_exactly_where_its_schema_is(
    revision: Revision, value: Any, schema: dict[str, Any] | None, wrapped: bool
) -> None:
    result = CallToolResult(content=[], structured_content=value)
    body = dressed(result, revision, output_schema=schema)
    assert body["structuredContent"] == ({"result": value} if wrapped else value)
    if schema is not None:
        tool = Tool(name="t", input_schema={"type": "object"}, output_schema=schema)
        (listed,) = dressed(ListToolsResult(tools=[tool]), revision)["tools"]
        assert (listed["outputSchema"] != schema) is wrapped


@pytest.mark.parametrize("value", [{"a": 1}, [1], None, 0])
def test_the_newest_revision_has_any_structured_output(value: Any) -> None:
    """Tools, "Structured Content"."""
    assert dressed(CallToolResult(content=[], structured_content=value), MODERN)["structuredContent"] == value


@pytest.mark.parametrize("revision", [FIRST, SECOND])
def test_structured_output_becomes_text_where_there_is_none_of_it(revision: Revision) -> None:
    """Tools, "Structured Content": the serialized JSON SHOULD be there as text for older clients."""
    silent = CallToolResult(content=[], structured_content={"a": None})
    assert dressed(silent, revision) == {"content": [{"type": "text", "text": '{"a":null}'}]}
    said = CallToolResult(content=[TextContent("said")], structured_content=[1], is_error=True)
    assert dressed(said, revision) == {"content": [{"type": "text", "text": "said"}], "isError": True}


AUDIO = AudioContent.of(b"x", "audio/wav")
LINK = ResourceLink("test://a", "a", title="A", description="about", icons=[Icon(src="i")])
BARE_LINK = ResourceLink("test://a", "a", annotations=Annotations(priority=1))


@every
def test_audio_becomes_text_where_there_is_none(revision: Revision) -> None:
    (block,) = dressed(CallToolResult(content=[AUDIO]), revision)["content"]
    assert block["type"] == ("text" if revision is FIRST else "audio")
    if revision is FIRST:
        assert "audio/wav" in block["text"]


@every
def test_a_link_becomes_text_where_there_is_none(revision: Revision) -> None:
    full, bare = dressed(CallToolResult(content=[LINK, BARE_LINK]), revision)["content"]
    if revision in (FIRST, SECOND):
        assert full == {"type": "text", "text": "A: test://a\nabout"}
        assert bare == {"type": "text", "text": "a: test://a", "annotations": {"priority": 1.0}}
    else:
        assert full["type"] == bare["type"] == "resource_link"
        assert ("icons" in full) is (revision in (FOURTH, MODERN))


@every
def test_a_block_is_described_in_words_that_the_revision_knows(revision: Revision) -> None:
    told = Annotations(audience=["user"], last_modified="2026-01-01")
    contents = ResourceContents("test://a", text="t", meta={"m": 1})
    blocks: list[ContentBlock] = [TextContent("a", told, {"m": 1}), EmbeddedResource(contents, told, {"m": 1})]
    text, embedded = dressed(CallToolResult(content=blocks), revision)["content"]
    known = revision not in (FIRST, SECOND)
    for block in (text, embedded):
        assert ("_meta" in block) is known
        assert block["annotations"] == {"audience": ["user"], **({"lastModified": "2026-01-01"} if known else {})}
    assert embedded["resource"] == {"uri": "test://a", "text": "t", **({"_meta": {"m": 1}} if known else {})}


EVERYTHING: dict[str, Any] = {"name": "n", "title": "N", "description": "d", "icons": [Icon(src="i")], "meta": {"m": 1}}
TOLD = Annotations(priority=1, last_modified="2026-01-01")


@pytest.mark.parametrize(
    ("revision", "unknown"),
    [
        (FIRST, {"title", "icons", "_meta"}),
        (SECOND, {"title", "icons", "_meta"}),
        (THIRD, {"icons"}),
        (FOURTH, set()),
        (MODERN, set()),
    ],
)
def test_what_is_listed_is_described_in_words_that_the_revision_knows(revision: Revision, unknown: set[str]) -> None:
    """The types `Prompt`, `PromptArgument`, `Resource` and `ResourceTemplate` of each schema."""
    told = {"annotations": TOLD, "mime_type": "text/plain", **EVERYTHING}
    [prompt] = dressed(
        ListPromptsResult(prompts=[Prompt(arguments=[PromptArgument("a", "A", "d", True)], **EVERYTHING)]), revision
    )["prompts"]
    [resource] = dressed(ListResourcesResult(resources=[Resource(uri="x:a", size=1, **told)]), revision)["resources"]
    [child] = dressed(ReadDirectoryResult(resources=[Resource(uri="x:a", size=1, **told)]), revision)["resources"]
    [template] = dressed(
        ListResourceTemplatesResult(resource_templates=[ResourceTemplate(uri_template="x:{a}", **told)]), revision
    )["resourceTemplates"]
    everything = {"name", "title", "description", "icons", "_meta"}
    assert prompt.keys() == (everything | {"arguments"}) - unknown
    assert resource.keys() == (everything | {"uri", "size", "mimeType", "annotations"}) - unknown
    assert child == resource
    assert template.keys() == (everything | {"uriTemplate", "mimeType", "annotations"}) - unknown
    [argument] = prompt["arguments"]
    assert argument.keys() == {"name", "title", "description", "required"} - unknown
    dated = revision not in (FIRST, SECOND)
    for one in (resource, template):
        assert ("lastModified" in one["annotations"]) is dated
        assert one["annotations"]["priority"] == 1


@every
def test_a_prompt_without_arguments_has_none_in_any_revision(revision: Revision) -> None:
    assert dressed(ListPromptsResult(prompts=[Prompt(name="a")]), revision)["prompts"] == [{"name": "a"}]


@every
def test_the_messages_of_a_prompt_hold_blocks_that_the_revision_knows(revision: Revision) -> None:
    blocks: list[ContentBlock] = [TextContent("a"), ImageContent.of(b"x", "image/png"), AUDIO, LINK]
    messages = [PromptMessage.user(block) for block in blocks]
    body = dressed(GetPromptResult(messages=messages, description="d"), revision)
    kinds = [message["content"]["type"] for message in body["messages"]]
    assert kinds[:2] == ["text", "image"]
    assert kinds[2] == ("text" if revision is FIRST else "audio")
    assert kinds[3] == ("text" if revision in (FIRST, SECOND) else "resource_link")
    assert {message["role"] for message in body["messages"]} == {"user"}
    assert body["description"] == "d"


@every
def test_contents_have_meta_where_the_revision_has_it(revision: Revision) -> None:
    contents = [ResourceContents("x:a", text="t", meta={"m": 1}), ResourceContents.of("x:b", b"", "image/png")]
    one, other = dressed(ReadResourceResult(contents=contents), revision)["contents"]
    assert ("_meta" in one) is (revision not in (FIRST, SECOND))
    assert other == {"uri": "x:b", "blob": "", "mimeType": "image/png"}


@every
def test_a_completion_is_the_same_in_every_revision(revision: Revision) -> None:
    body = dressed(CompleteResult(completion=Completion(["a"], 3, True)), revision)
    assert body["completion"] == {"values": ["a"], "total": 3, "hasMore": True}


@pytest.mark.parametrize(
    ("own", "hint", "fields"),
    [
        ({}, CacheHint(1), {"ttlMs": 1000, "cacheScope": "private"}),
        ({"ttl_ms": 5}, CacheHint(1, "public"), {"ttlMs": 5, "cacheScope": "public"}),
        ({"cache_scope": "public"}, CacheHint(1), {"ttlMs": 1000, "cacheScope": "public"}),
        ({"ttl_ms": -5, "cache_scope": "private"}, CacheHint(1, "public"), {"ttlMs": 0, "cacheScope": "private"}),
    ],
)
def test_a_hint_of_the_result_itself_goes_before_the_general_one(
    own: dict[str, Any], hint: CacheHint, fields: dict[str, Any]
) -> None:
    """Caching, "Cacheable Results"."""
    result = ReadResourceResult(contents=[], **own)
    assert dressed(result, MODERN, cache=hint) == {"contents": [], "resultType": "complete", **STAMP, **fields}
    for revision in LEGACY:
        assert dressed(result, revision, cache=hint) == {"contents": []}


@pytest.mark.parametrize("wrong", [{"ttl": math.nan}, {"ttl": math.inf}, {"scope": "shared"}])
def test_a_hint_that_could_not_be_written_is_refused(wrong: Any) -> None:
    with pytest.raises(ValueError, match="a finite ttl"):
        CacheHint(**wrong)


HELLO = InitializeResult(
    protocol_version="x",
    capabilities=ServerCapabilities(tools=ListChangedCapability(), completions={}, extensions={"a/b": {}}),
    server_info=Implementation(
        name="s", version="1", title="S", description="d", website_url="w", icons=[Icon(src="i")]
    ),
)


@pytest.mark.parametrize(
    ("revision", "capabilities", "info"),
    [
        (FIRST, set(), {"name", "version"}),
        (SECOND, {"completions"}, {"name", "version"}),
        (THIRD, {"completions"}, {"name", "version", "title"}),
        (FOURTH, {"completions"}, {"name", "version", "title", "description", "websiteUrl", "icons"}),
    ],
)
def test_the_handshake_is_answered_in_words_that_the_revision_knows(
    revision: Revision, capabilities: set[str], info: set[str]
) -> None:
    body = dressed(HELLO, revision)
    assert set(body["capabilities"]) == {"tools", "extensions"} | capabilities
    assert set(body["serverInfo"]) == info
    assert body["protocolVersion"] == "x"


def test_discovery_is_dressed_like_any_modern_result() -> None:
    result = DiscoverResult(supported_versions=revisions.ALL_DATES, capabilities=ServerCapabilities())
    assert dressed(result, MODERN, cache=CacheHint(3600, "public")) == {
        "supportedVersions": revisions.ALL_DATES,
        "capabilities": {},
        "resultType": "complete",
        "ttlMs": 3_600_000,
        "cacheScope": "public",
        **STAMP,
    }


@every
def test_a_mapping_is_taken_as_it_is(revision: Revision) -> None:
    """A custom method's result has words of its own, whatever they are called."""
    own = {"tools": 1, "content": None, "structuredContent": [1], "capabilities": "x"}
    body = dressed(own, revision)
    assert {name: body[name] for name in own} == own


@every
def test_a_value_without_a_json_form_is_refused_by_name(revision: Revision) -> None:
    with pytest.raises(NotJson):
        dressed(CallToolResult(content=[], structured_content=object()), revision)
    with pytest.raises(NotJson):
        jsonrpc.encode_reply(1, dressed(CallToolResult(content=[], structured_content=math.nan), revision))


@pytest.mark.parametrize(
    ("code", "legacy", "modern"),
    [
        (-32002, -32002, -32602),
        (-32020, -32600, -32020),
        (-32021, -32600, -32021),
        (-32022, -32600, -32022),
        (-32602, -32602, -32602),
        (-32603, -32603, -32603),
        (-32042, -32042, -32603),
        (7, 7, 7),
    ],
)
@every
def test_an_error_has_the_code_of_its_revision(revision: Revision, code: int, legacy: int, modern: int) -> None:
    """Overview, "Error Codes"."""
    assert renumber(code, revision) == (modern if revision.era is Era.MODERN else legacy)


@pytest.mark.parametrize("code", [-32000, -32001, -32002, -32019, -32023, -32042, -32099])
def test_no_code_of_the_protocols_range_goes_out_that_the_revision_does_not_define(code: int) -> None:
    """Overview 2026-07-28, "Error Codes": neither retired codes nor any that somebody made up there."""
    assert renumber(code, MODERN) in (-32602, -32603)


@pytest.mark.parametrize("code", [-32100, -31999, -1, 0, 1, 404])
@every
def test_codes_outside_the_protocols_range_are_the_authors(revision: Revision, code: int) -> None:
    assert renumber(code, revision) == code


def test_what_a_result_has_is_a_matter_of_facts_and_not_of_eras() -> None:
    between = replace(FOURTH, result_type=True)
    assert dressed({}, between, cache=CacheHint()) == {"resultType": "complete"}
    between = replace(FOURTH, cache_hints=True, result_type=True)
    assert dressed({"ttlMs": 7}, between) == {"ttlMs": 7, "resultType": "complete"}


def test_nothing_is_taken_away_from_the_newest_revision() -> None:
    tool = msgspec.to_builtins(msgspec.structs.replace(TOOL, output_schema=ARRAY))
    assert older.tool(tool, MODERN) == tool
    result = CallToolResult(content=[AUDIO, LINK], structured_content=[1])
    body = jsontext.plain(result)
    older.call(body, MODERN, ARRAY)
    assert body["structuredContent"] == [1]
    assert body["content"] == list(jsontext.plain(result)["content"])


def test_what_is_dressed_can_be_encoded_with_its_parts_still_structs() -> None:
    body = dressed({"content": [TextContent("a")], "raw": msgspec.Raw(b"[1]")}, MODERN)
    assert b'"content":[{"type":"text","text":"a"}],"raw":[1]' in jsonrpc.encode_reply(1, body)
