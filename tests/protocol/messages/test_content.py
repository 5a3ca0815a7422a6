"""Content blocks as they are on the wire."""

from typing import Any

import msgspec
import pytest

from mcpfleet.protocol.messages import (
    Annotations,
    AudioContent,
    ContentBlock,
    EmbeddedResource,
    Icon,
    ImageContent,
    ResourceContents,
    ResourceLink,
    TextContent,
)

BLOCKS: list[tuple[ContentBlock, dict[str, Any]]] = [
    (TextContent("hi"), {"type": "text", "text": "hi"}),
    (
        TextContent("hi", Annotations(audience=["user"], priority=0.5, last_modified="2026-01-01T00:00:00Z"), {"a": 1}),
        {
            "type": "text",
            "text": "hi",
            "annotations": {"audience": ["user"], "priority": 0.5, "lastModified": "2026-01-01T00:00:00Z"},
            "_meta": {"a": 1},
        },
    ),
    (ImageContent.of(b"\xff\xfe", "image/png"), {"type": "image", "data": "//4=", "mimeType": "image/png"}),
    (
        AudioContent.of(b"", "audio/wav", annotations=Annotations(priority=1)),
        {"type": "audio", "data": "", "mimeType": "audio/wav", "annotations": {"priority": 1}},
    ),
    (
        EmbeddedResource(ResourceContents.of("test://a", "text", "text/plain")),
        {"type": "resource", "resource": {"uri": "test://a", "mimeType": "text/plain", "text": "text"}},
    ),
    (
        EmbeddedResource(ResourceContents.of("test://a", b"\x00")),
        {"type": "resource", "resource": {"uri": "test://a", "blob": "AA=="}},
    ),
    (
        ResourceLink(
            "test://a", "a", icons=[Icon(src="https://x/i.png", mime_type="image/png", sizes=["any"])], size=3
        ),
        {
            "type": "resource_link",
            "uri": "test://a",
            "name": "a",
            "size": 3,
            "icons": [{"src": "https://x/i.png", "mimeType": "image/png", "sizes": ["any"]}],
        },
    ),
]


@pytest.mark.parametrize(("block", "wire"), BLOCKS, ids=lambda value: type(value).__name__)
def test_a_block_is_written_in_the_protocols_words_and_read_back(block: ContentBlock, wire: dict[str, Any]) -> None:
    assert msgspec.to_builtins(block) == wire
    assert msgspec.convert(wire, type=ContentBlock) == block


@pytest.mark.parametrize("both", [{}, {"text": "a", "blob": "AA=="}])
def test_a_resource_has_either_text_or_a_blob(both: dict[str, str]) -> None:
    with pytest.raises(ValueError, match="either text or a blob"):
        ResourceContents("test://a", both.get("text"), both.get("blob"))
    with pytest.raises(msgspec.ValidationError, match="either text or a blob"):
        msgspec.convert({"uri": "test://a", **both}, type=ResourceContents)


def test_a_block_of_an_unknown_kind_is_refused() -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert({"type": "video", "data": ""}, type=ContentBlock)
