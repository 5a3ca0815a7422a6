"""Every stored value begins with the version of its format, so that no build misreads what another one wrote.

Within one version a struct may gain fields that have defaults; anything else needs a new version.
"""

from typing import Final, TypeVar

import msgspec

from mcpfleet.errors import UnknownFormat

VERSION: Final = 1
_TAG: Final = bytes([VERSION])

Value = TypeVar("Value", bound=msgspec.Struct)


def pack(value: msgspec.Struct) -> bytes:
    """The value as stored: one byte of format version, then MessagePack."""
    return _TAG + msgspec.msgpack.encode(value)


def unpack(kind: type[Value], data: bytes) -> Value:
    """What `pack` wrote of that kind; raises `UnknownFormat` for another version and for garbage."""
    if data[:1] != _TAG:
        found = f"format {data[0]}" if data else "nothing"
        raise UnknownFormat(f"{kind.__name__} is stored as {found}; this build knows format {VERSION}")
    try:
        return msgspec.msgpack.decode(memoryview(data)[1:], type=kind)
    except msgspec.DecodeError as error:
        raise UnknownFormat(f"{kind.__name__} is not format {VERSION}, although it says so: {error}") from error
