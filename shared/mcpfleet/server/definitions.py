"""What clients are told of a thing, checked once, before any of them could stumble over it."""

from typing import Any, Final, TypeVar

import msgspec

from mcpfleet.errors import RegistrationError
from mcpfleet.protocol import jsontext, media

Definition = TypeVar("Definition", bound=msgspec.Struct)

ICONS: Final = ("https://", "http://", "data:")
"""How the URI of an icon begins that clients would show ("Overview", section "Icons")."""


def checked_definition(definition: Definition, where: str) -> Definition:
    """The definition, with members of the protocol's own types; `RegistrationError`, which names the member that is
    none, or that JSON cannot carry."""
    try:
        jsontext.dumps(definition)
        checked = msgspec.convert(jsontext.plain(definition), type(definition))
    except jsontext.NotJson as error:
        raise RegistrationError(f"{where}: its definition is not JSON: {error}") from None
    except msgspec.ValidationError as error:
        raise RegistrationError(f"{where}: {said(error)}") from None
    for icon in getattr(checked, "icons", None) or ():
        if not icon.src.startswith(ICONS):
            raise RegistrationError(f"{where}: an icon has an https or data URI, not {icon.src[:128]!r}")
    checked_mime_type(getattr(checked, "mime_type", None), where)
    return checked


def checked_mime_type(mime_type: Any, where: str) -> str | None:
    """The MIME type itself; `RegistrationError` if it is none."""
    if mime_type is not None and not (isinstance(mime_type, str) and media.is_mime_type(mime_type)):
        raise RegistrationError(f"{where}: {str(mime_type)[:128]!r} is no MIME type, such as image/png")
    return mime_type


def said(fault: msgspec.ValidationError) -> str:
    """What msgspec says ("Expected `str`, got `int` - at `$.title`"), the member first."""
    what, _, place = str(fault).rpartition(" - at ")
    return f"{place.strip('`').removeprefix('$.')}: {what}"
