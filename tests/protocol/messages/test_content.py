"""Content blocks as they are on the wire."""

from pathlib import Path
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


@pytest.mark.parametrize("data", ["a", "a===", "aGk", "aGk=\n", "a Gk=", "_-8=", "é", "\u2028", "aGk=aGk="])
def test_what_is_no_base64_is_refused(data: str) -> None:
    """Prompts, "Image Content" and "Audio Content"; Resources, "Security Considerations"."""
    for make in (lambda: ImageContent(data, "image/png"), lambda: ResourceContents("test://a", blob=data)):
        with pytest.raises(ValueError, match="no base64"):
            make()
    with pytest.raises(msgspec.ValidationError, match="no base64"):
        msgspec.convert({"type": "audio", "data": data, "mimeType": "audio/wav"}, type=ContentBlock)


@pytest.mark.parametrize("mime_type", ["", "png", "image/", "/png", "image/png/x", "im age/png", "image/png\n", "é/é"])
def test_what_is_no_mime_type_is_refused(mime_type: str) -> None:
    """Prompts, "Image Content" and "Audio Content"."""
    for make in (
        lambda: ImageContent("", mime_type),
        lambda: AudioContent.of(b"", mime_type) if mime_type else AudioContent("", ""),
        lambda: ResourceContents("test://a", "text", mime_type=mime_type),
        lambda: ResourceLink("test://a", "a", mime_type=mime_type),
    ):
        with pytest.raises(ValueError, match="no MIME type"):
            make()


@pytest.mark.parametrize("uri", ["", "a", "/a", "../a", "test://a b", "test://{a}"])
def test_what_is_no_uri_is_refused(uri: str) -> None:
    """Prompts, "Embedded Resources"."""
    with pytest.raises(ValueError, match="no absolute URI"):
        EmbeddedResource.of(uri, "text")
    with pytest.raises(ValueError, match="no absolute URI"):
        ResourceLink(uri, "a")


@pytest.mark.parametrize(
    "mime_type", ["image/png", "IMAGE/svg+xml", "text/html;profile=mcp-app", "text/plain; charset=utf-8", "x/y.z-1_a"]
)
def test_any_mime_type_may_be_given(mime_type: str) -> None:
    assert ResourceContents("test://a", "text", mime_type=mime_type).mime_type == mime_type


def test_a_block_of_an_unknown_kind_is_refused() -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert({"type": "video", "data": ""}, type=ContentBlock)


def test_a_file_is_content_of_the_type_that_its_name_tells(tmp_path: Path) -> None:
    image, sound, text = tmp_path / "a.png", tmp_path / "a.wav", tmp_path / "a.md"
    for path in (image, sound, text):
        path.write_bytes(b"hi")
    told = Annotations(priority=0)
    assert ImageContent.of(image) == ImageContent("aGk=", "image/png")
    assert ImageContent.of(image, "image/x", annotations=told) == ImageContent("aGk=", "image/x", told)
    assert AudioContent.of(sound) == AudioContent("aGk=", "audio/wav")
    assert EmbeddedResource.of("test://a", text, annotations=told) == EmbeddedResource(
        ResourceContents("test://a", text="hi", mime_type="text/markdown"), told
    )
    assert ResourceContents.of("test://a", text, "image/png") == ResourceContents(
        "test://a", blob="aGk=", mime_type="image/png"
    )


@pytest.mark.parametrize("kind", [ImageContent, AudioContent])
def test_bytes_need_to_be_told_what_they_are(kind: type[ImageContent] | type[AudioContent]) -> None:
    with pytest.raises(ValueError, match="MIME type: give it"):
        kind.of(b"hi")


@pytest.mark.parametrize(
    "wrong", [{"audience": ["model"]}, {"audience": "user"}, {"priority": 1.1}, {"priority": -0.1}]
)
def test_annotations_are_checked_when_they_are_made(wrong: dict[str, Any]) -> None:
    """Resources, "Annotations": valid values are "user" and "assistant", and a number from 0.0 to 1.0."""
    with pytest.raises(ValueError, match=r"an audience is a list|a priority is a number"):
        Annotations(**wrong)
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(wrong, Annotations)


def test_annotations_may_say_everything_or_nothing() -> None:
    assert Annotations() == Annotations(audience=None, priority=None)
    for priority in (0, 0.5, 1):
        assert Annotations(audience=("user", "assistant"), priority=priority).priority == priority
