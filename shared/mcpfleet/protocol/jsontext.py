"""JSON text, read and written strictly: what one peer reads, every other peer reads the same.

Refused on reading: a member named twice in one object, numbers beyond a double's range, NaN and Infinity, text that is
not UTF-8, lone surrogates, and nesting or numbers of values beyond bounds that are checked before anything is decoded.
Integers keep every digit (up to the interpreter's limit of 4300). Never written: NaN and Infinity.
"""

import math
import re
from array import array
from collections.abc import Iterator
from itertools import accumulate
from typing import Any, Final

import msgspec

from mcpfleet.errors import McpFleetError

_DECODER: Final = msgspec.json.Decoder()
_ENCODER: Final = msgspec.json.Encoder()

_STRING: Final = re.compile(rb'"(?:[^"\\]++|\\.)*+"?', re.DOTALL)
"""A string, or an unterminated one up to the end of the text; possessive, so linear on any input."""
_NOT_BRACKETS: Final = bytes(set(range(256)) - set(b"[]{}"))
_STEPS: Final = bytes.maketrans(b"[{]}", b"\x01\x01\xff\xff")
"""A bracket as the step in depth that it makes, in signed bytes: 1 in, -1 out."""


class NotJson(McpFleetError, ValueError):
    """A text that is not JSON as this module reads it, or a value that JSON cannot carry."""


class TooDeep(NotJson):
    """Arrays and objects are nested deeper than allowed."""


class TooMany(NotJson):
    """There are more values than allowed: a small text of many would keep its reader busy for seconds."""


class RepeatedName(NotJson):
    """An object names a member twice, so that two readers may see two values."""


class NotFinite(NotJson):
    """A value holds NaN or an infinity."""


def loads(text: bytes, *, max_depth: int = 64, max_values: int | None = None) -> Any:
    """Read one JSON value; anything that another reader might read differently raises `NotJson`.

    `max_values` bounds how many brackets are opened, and commas set, in the whole text; None is no bound.
    """
    opened = text.count(b"[") + text.count(b"{")
    if opened > max_depth or (max_values is not None and opened + text.count(b",") > max_values):
        _check_shape(text, max_depth, max_values)
    try:
        value = _DECODER.decode(text)
        if _ENCODER.encode(value) == text:
            return value
    except (msgspec.DecodeError, RecursionError) as error:
        raise NotJson(str(error)) from None
    # A text that its own value encodes to cannot hide a repeated name. Any other has one if it has more colons outside
    # strings than its value has members.
    members = _members(value)
    if members != text.count(b":") and members != _STRING.sub(b"", text).count(b":"):
        raise RepeatedName("an object names a member twice")
    return value


def dumps(value: Any) -> bytes:
    """Write one JSON value without blanks; a value that JSON cannot carry, such as NaN, raises `NotJson`."""
    try:
        text = _ENCODER.encode(value)
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise NotJson(f"{type(error).__name__}: {error}") from error
    # The encoder writes a number that is not finite as null, so only a text with a null can stand for one.
    if b"null" in text and not all(map(math.isfinite, _floats(msgspec.to_builtins(value, enc_hook=_written)))):
        raise NotFinite("a number is not finite (NaN or Infinity)")
    return text


def plain(value: Any) -> Any:
    """The value in JSON's own types; one that has no JSON form raises `NotJson` (NaN is left to `dumps`)."""
    try:
        return msgspec.to_builtins(value)
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise NotJson(f"{type(error).__name__}: {error}") from error


def _check_shape(text: bytes, max_depth: int, max_values: int | None) -> None:
    """Raise `TooMany` or `TooDeep` by what is outside strings, of which each value may be one, with another for its
    name."""
    max_strings = 0 if max_values is None else 2 * max_values
    bare, strings = _STRING.subn(b"", text, max_strings and max_strings + 1)
    if max_values is not None:
        values = bare.count(b"[") + bare.count(b"{") + bare.count(b",")
        if strings > max_strings or values > max_values:
            raise TooMany(f"more than {max_values} values")
    if max(accumulate(array("b", bare.translate(_STEPS, _NOT_BRACKETS))), default=0) > max_depth:
        raise TooDeep(f"nested deeper than {max_depth} levels")


def _members(value: Any) -> int:
    """How many members all objects in the value have."""
    count = 0
    rest = [value]
    while rest:
        node = rest.pop()
        if type(node) is dict:
            count += len(node)
            rest.extend(node.values())
        elif type(node) is list:
            rest.extend(node)
    return count


def _written(_raw: Any) -> None:
    """Stand in for a `msgspec.Raw`, the only thing the encoder takes and `to_builtins` does not: text of `dumps`."""


def _floats(value: Any) -> Iterator[float]:
    """Every float in a value made of builtins."""
    rest = [value]
    while rest:
        node = rest.pop()
        if type(node) is dict:
            rest.extend(node.values())
        elif isinstance(node, list | tuple):
            rest.extend(node)
        elif isinstance(node, float):
            yield node
