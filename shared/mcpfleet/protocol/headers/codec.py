"""How a text becomes a header value: as it is, or as base64 between markers (Streamable HTTP, "Value Encoding")."""

import base64
import binascii
from typing import Final

_PREFIX: Final = "=?base64?"
_SUFFIX: Final = "?="


def encode_value(text: str) -> str:
    """A header value that `decode_value` turns back into the text; text that is not Unicode raises `ValueError`."""
    looks_encoded = text.startswith(_PREFIX) and text.endswith(_SUFFIX)
    if _is_visible(text) and text == text.strip(" ") and not looks_encoded:
        return text
    return f"{_PREFIX}{base64.b64encode(text.encode()).decode()}{_SUFFIX}"


def decode_value(value: str) -> str | None:
    """The text that a header value stands for; None for characters outside visible ASCII, blank and tab, and for
    markers around anything but canonical base64 of UTF-8."""
    if not _is_visible(value) and not _is_visible(value.replace("\t", " ")):
        return None
    if not value.startswith(_PREFIX) or not value.endswith(_SUFFIX) or len(value) < len(_PREFIX + _SUFFIX):
        return value
    payload = value.removeprefix(_PREFIX).removesuffix(_SUFFIX)
    try:
        data = base64.b64decode(payload, validate=True)
        text = data.decode()
    except (binascii.Error, UnicodeDecodeError):
        return None
    return text if base64.b64encode(data).decode() == payload else None


def _is_visible(text: str) -> bool:
    """Whether all characters are visible ASCII or blanks."""
    return text.isascii() and text.isprintable()
