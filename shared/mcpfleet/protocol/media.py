"""MIME types: guessed from names, the same on every machine, and what they say of bytes."""

import mimetypes
from typing import Final

TEXT: Final = "text/plain"
BINARY: Final = "application/octet-stream"
JSON: Final = "application/json"

_TYPES: Final = mimetypes.MimeTypes(filenames=())  # not the tables of this machine, which differ
for _ending, _type in (
    (".js", "text/javascript"),
    (".jsonl", "application/jsonl"),
    (".md", "text/markdown"),
    (".toml", "application/toml"),
    (".wav", "audio/wav"),
    (".webp", "image/webp"),
    (".yaml", "application/yaml"),
    (".yml", "application/yaml"),
):
    _TYPES.add_type(_type, _ending)

_TEXTUAL: Final = frozenset({JSON, "application/jsonl", "application/toml", "application/xml", "application/yaml"})


def guess(name: str) -> str:
    """The MIME type that a file's name tells; bytes if it tells none, or tells of a compressed file."""
    mime_type, encoding = _TYPES.guess_type(name)
    return BINARY if mime_type is None or encoding is not None else mime_type


def is_textual(mime_type: str) -> bool:
    """Whether what is of this type can be read as text."""
    bare = mime_type.partition(";")[0].strip().lower()
    return bare.startswith("text/") or bare in _TEXTUAL or bare.endswith(("+json", "+xml"))


def decoded(data: bytes, mime_type: str) -> str | bytes:
    """The text that the bytes are, if their type is textual and they are UTF-8; else the bytes."""
    if not is_textual(mime_type):
        return data
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data
