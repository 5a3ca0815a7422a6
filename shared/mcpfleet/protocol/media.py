"""MIME types: guessed from names, the same on every machine, and what they say of bytes."""

import mimetypes
import re
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


_NAME: Final = r"[A-Za-z0-9][A-Za-z0-9!#$&^_.+-]{0,126}"
_TYPE: Final = re.compile(rf"{_NAME}/{_NAME}(?:\s*;[\t\x20-\x7e]*)?")


def guess(name: str) -> str:
    """The MIME type that a file's name tells; bytes if it tells none, or tells of a compressed file."""
    mime_type, encoding = _TYPES.guess_type(name)
    return BINARY if mime_type is None or encoding is not None else mime_type


def is_mime_type(text: str) -> bool:
    """Whether a text has the form of a MIME type, with or without parameters (RFC 6838, section 4.2)."""
    return _TYPE.fullmatch(text) is not None


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
