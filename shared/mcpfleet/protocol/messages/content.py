"""Content blocks, and what describes them ("Tools", section "Tool Result")."""

import base64
import binascii
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, Literal

from msgspec import Struct, field

from mcpfleet.protocol import media, uris


class Annotations(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """For whom a thing is, how much it matters (0 to 1), and when it last changed (ISO 8601)."""

    audience: Sequence[Literal["user", "assistant"]] | None = None
    priority: float | None = None
    last_modified: str | None = None

    def __post_init__(self) -> None:
        if not {*(self.audience or ())} <= _ROLES or isinstance(self.audience, str):
            raise ValueError("an audience is a list of 'user' and 'assistant'")
        if self.priority is not None and not 0 <= self.priority <= 1:
            raise ValueError("a priority is a number from 0 to 1")


_ROLES: Final = frozenset({"user", "assistant"})


class Icon(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """An image that stands for a thing, by an https or data URI."""

    src: str
    mime_type: str | None = None
    sizes: Sequence[str] | None = None
    theme: Literal["light", "dark"] | None = None


class TextContent(Struct, frozen=True, omit_defaults=True, rename="camel", tag_field="type", tag="text"):
    """Text."""

    text: str
    annotations: Annotations | None = None
    meta: dict[str, Any] | None = field(default=None, name="_meta")


class ImageContent(Struct, frozen=True, omit_defaults=True, rename="camel", tag_field="type", tag="image"):
    """An image; `data` is base64, see `of`, and anything else a `ValueError`."""

    data: str
    mime_type: str
    annotations: Annotations | None = None
    meta: dict[str, Any] | None = field(default=None, name="_meta")

    def __post_init__(self) -> None:
        _check(self.data, self.mime_type)

    @classmethod
    def of(
        cls, data: bytes | Path, mime_type: str | None = None, *, annotations: Annotations | None = None
    ) -> "ImageContent":
        """An image from its bytes, or from a file, whose name tells the MIME type where it is not given."""
        return cls(*_encoded(data, mime_type), annotations)


class AudioContent(Struct, frozen=True, omit_defaults=True, rename="camel", tag_field="type", tag="audio"):
    """Sound; `data` is base64, see `of`, and anything else a `ValueError`."""

    data: str
    mime_type: str
    annotations: Annotations | None = None
    meta: dict[str, Any] | None = field(default=None, name="_meta")

    def __post_init__(self) -> None:
        _check(self.data, self.mime_type)

    @classmethod
    def of(
        cls, data: bytes | Path, mime_type: str | None = None, *, annotations: Annotations | None = None
    ) -> "AudioContent":
        """Sound from its bytes, or from a file, whose name tells the MIME type where it is not given."""
        return cls(*_encoded(data, mime_type), annotations)


class ResourceContents(Struct, frozen=True, omit_defaults=True, rename="camel"):
    """What is at a URI: either `text`, or `blob` in base64; see `of`."""

    uri: str
    text: str | None = None
    blob: str | None = None
    mime_type: str | None = None
    meta: dict[str, Any] | None = field(default=None, name="_meta")

    def __post_init__(self) -> None:
        if (self.text is None) == (self.blob is None):
            raise ValueError("a resource has either text or a blob")
        if not uris.is_uri(self.uri):
            raise ValueError(f"{self.uri[:128]!r} is no absolute URI")
        _check(self.blob or "", self.mime_type)

    @classmethod
    def of(cls, uri: str, data: str | bytes | Path, mime_type: str | None = None) -> "ResourceContents":
        """A text, or a blob from its bytes; of a file whichever its MIME type says, which its name tells if need be."""
        if isinstance(data, Path):
            mime_type = mime_type or media.guess(data.name)
            data = media.decoded(data.read_bytes(), mime_type)
        if isinstance(data, str):
            return cls(uri, text=data, mime_type=mime_type)
        return cls(uri, blob=base64.b64encode(data).decode(), mime_type=mime_type)


class EmbeddedResource(Struct, frozen=True, omit_defaults=True, rename="camel", tag_field="type", tag="resource"):
    """A resource, given with the result."""

    resource: ResourceContents
    annotations: Annotations | None = None
    meta: dict[str, Any] | None = field(default=None, name="_meta")

    @classmethod
    def of(
        cls,
        uri: str,
        data: str | bytes | Path,
        mime_type: str | None = None,
        *,
        annotations: Annotations | None = None,
    ) -> "EmbeddedResource":
        """A resource from its text, its bytes or a file; see `ResourceContents.of`."""
        return cls(ResourceContents.of(uri, data, mime_type), annotations)


class ResourceLink(Struct, frozen=True, omit_defaults=True, rename="camel", tag_field="type", tag="resource_link"):
    """A resource that the client may read; before it existed, clients get its URI as text. `ValueError` for no URI."""

    uri: str
    name: str
    title: str | None = None
    description: str | None = None
    mime_type: str | None = None
    size: int | None = None
    icons: Sequence[Icon] | None = None
    annotations: Annotations | None = None
    meta: dict[str, Any] | None = field(default=None, name="_meta")

    def __post_init__(self) -> None:
        if not uris.is_uri(self.uri):
            raise ValueError(f"{self.uri[:128]!r} is no absolute URI")
        _check("", self.mime_type)


ContentBlock = TextContent | ImageContent | AudioContent | EmbeddedResource | ResourceLink


def _check(data: str, mime_type: str | None) -> None:
    try:
        binascii.a2b_base64(data, strict_mode=True)
    except ValueError as error:
        raise ValueError(f"this is no base64, which `of` makes of bytes: {error}") from None
    if mime_type is not None and not media.is_mime_type(mime_type):
        raise ValueError(f"{mime_type[:128]!r} is no MIME type, such as image/png")


def _encoded(data: bytes | Path, mime_type: str | None) -> tuple[str, str]:
    """Base64 and MIME type."""
    if isinstance(data, Path):
        mime_type = mime_type or media.guess(data.name)
        data = data.read_bytes()
    if mime_type is None:
        raise ValueError("bytes do not tell their MIME type: give it")
    return base64.b64encode(data).decode(), mime_type
