"""What authors put together themselves, held to the protocol's types before any client gets it."""

from typing import TypeVar

import msgspec

from mcpfleet.errors import OutputRefused
from mcpfleet.protocol import jsontext
from mcpfleet.server.definitions import said

Made = TypeVar("Made", bound=msgspec.Struct)


def readable(made: Made) -> Made:
    """What a function returned, unchanged; `OutputRefused`, which names the member, if no client could read it."""
    try:
        msgspec.convert(jsontext.plain(made), type(made))
    except jsontext.NotJson as error:
        raise OutputRefused(f"a {type(made).__name__} has no JSON form: {error}") from None
    except msgspec.ValidationError as error:
        raise OutputRefused(f"a {type(made).__name__} that no client could read: {said(error)}") from None
    return made
