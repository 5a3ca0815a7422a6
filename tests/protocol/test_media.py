"""MIME types by name, and what they say of bytes."""

import pytest

from mcpfleet.protocol import media


@pytest.mark.parametrize(
    ("name", "mime_type"),
    [
        ("a.txt", "text/plain"),
        ("a.md", "text/markdown"),
        ("A.JSON", "application/json"),
        ("a.yml", "application/yaml"),
        ("a.js", "text/javascript"),
        ("a.png", "image/png"),
        ("a.wav", "audio/wav"),
        ("a.webp", "image/webp"),
        ("a.txt.gz", "application/octet-stream"),
        ("a.unheard-of", "application/octet-stream"),
        ("a", "application/octet-stream"),
    ],
)
def test_a_name_tells_its_type(name: str, mime_type: str) -> None:
    assert media.guess(name) == mime_type


@pytest.mark.parametrize(
    ("data", "mime_type", "read"),
    [
        (b"a", "text/plain", "a"),
        (b"\xc3\xbc", "Text/Plain; charset=utf-8", "ü"),
        (b"{}", "application/json", "{}"),
        (b"<a/>", "image/svg+xml", "<a/>"),
        (b"{}", "application/ld+json", "{}"),
        (b"\xff", "text/plain", b"\xff"),
        (b"a", "image/png", b"a"),
    ],
)
def test_bytes_of_a_textual_type_are_text_if_they_can_be_read(data: bytes, mime_type: str, read: str | bytes) -> None:
    assert media.decoded(data, mime_type) == read
