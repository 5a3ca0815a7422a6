"""Reading the params of a request, with words for the peer where they are wrong."""

from collections.abc import Mapping
from typing import Any

from mcpfleet.errors import ProtocolError
from mcpfleet.protocol.jsonrpc import INVALID_PARAMS


def text(params: Mapping[str, Any], name: str, where: str = "params") -> str:
    """The string of that name; `ProtocolError` if there is none."""
    value = params.get(name)
    if not isinstance(value, str):
        raise ProtocolError(INVALID_PARAMS, f"{where}.{name} must be a string")
    return value


def texts(params: Mapping[str, Any], name: str, where: str = "params") -> dict[str, str]:
    """The object of strings of that name; null is as good as leaving it, or one of them, out."""
    found = {key: value for key, value in table(params, name, where).items() if value is not None}
    if not all(isinstance(value, str) for value in found.values()):
        raise ProtocolError(INVALID_PARAMS, f"{where}.{name} must be an object of strings")
    return found


def table(params: Mapping[str, Any], name: str, where: str = "params") -> dict[str, Any]:
    """The object of that name, empty if it is left out or null; `ProtocolError` if it is anything else."""
    value = params.get(name)
    if value is None:  # some clients write out what they leave empty
        return {}
    if not isinstance(value, dict):
        raise ProtocolError(INVALID_PARAMS, f"{where}.{name} must be an object")
    return value
