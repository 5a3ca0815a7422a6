"""What careless hosts send, read as they may have meant it: 1.0 for 1, and JSON in a string."""

import contextlib
from collections.abc import Iterator
from typing import Any

from mcpfleet.protocol import jsontext
from mcpfleet.server.shapes import Misfit, Shape


def read_leniently(one: Shape, value: Any, name: str) -> Any:
    """Read a value, or what a careless host may have meant by it; the complaint is always about the value itself."""
    try:
        return one.read(value, name)
    except Misfit:
        for other in _other_readings(value):
            with contextlib.suppress(Misfit):
                return one.read(other, name)
        raise


def read_text(one: Shape, text: str, name: str) -> Any:
    """Read what arrived as a string though it need not be one: as it came, else as the JSON that it says."""
    try:
        return one.read(text, name)
    except Misfit:
        with contextlib.suppress(jsontext.NotJson, Misfit):
            return one.read(_with_integers(jsontext.loads(text.encode())), name)
        raise


def _other_readings(value: Any) -> Iterator[Any]:
    """The value with 1.0 for 1; and an array or object that was sent as a string of JSON.

    Only for what did not fit as it came: a hint that takes strings never sees a string decoded.
    """
    yield _with_integers(value)
    if isinstance(value, str) and value.lstrip().startswith(("{", "[")):
        with contextlib.suppress(jsontext.NotJson):
            yield _with_integers(jsontext.loads(value.encode()))


def _with_integers(value: Any) -> Any:
    """The value with an integer for every float that is one: JSON does not tell 1.0 from 1."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, list):
        return [_with_integers(item) for item in value]
    if isinstance(value, dict):
        return {key: _with_integers(item) for key, item in value.items()}
    return value
