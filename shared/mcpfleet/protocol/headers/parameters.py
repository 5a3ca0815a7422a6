"""Tool parameters mirrored into `Mcp-Param-*` headers (Streamable HTTP, "Custom Headers from Tool Parameters")."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from mcpfleet.errors import RegistrationError
from mcpfleet.protocol import schemas
from mcpfleet.protocol.headers.codec import decode_value, encode_value
from mcpfleet.protocol.headers.names import MCP_PARAM_PREFIX
from mcpfleet.protocol.headers.view import NO_HEADERS, Headers

ANNOTATION: Final = "x-mcp-header"
MAX_SAFE_INTEGER: Final = 2**53 - 1

_TOKEN: Final = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_INTEGRAL: Final = re.compile(r"(-?[0-9]{1,32})(?:\.0{1,32})?")
_TYPES: Final = frozenset({"string", "integer", "boolean"})


@dataclass(frozen=True, slots=True)
class Mirrored:
    """One annotated parameter: where its value stands in the arguments, and the header that repeats it."""

    path: tuple[str, ...]
    header: str
    type: str


ParameterMap = Sequence[Mirrored]


def parameter_map(input_schema: Mapping[str, Any]) -> tuple[Mirrored, ...]:
    """The annotated parameters of a tool; an annotation that breaks the rules raises `RegistrationError`."""
    found: dict[str, Mirrored] = {}
    for path, schema in schemas.walk(input_schema):
        if ANNOTATION in schema:
            mirrored = _mirrored(path, schema)
            other = found.setdefault(mirrored.header.lower(), mirrored)
            if other is not mirrored:
                raise RegistrationError(
                    f"{ANNOTATION} {schema[ANNOTATION]!r} is used for both {_dotted(other)} and {_dotted(mirrored)}"
                )
    return tuple(found.values())


def _mirrored(path: schemas.Path | None, schema: dict[str, Any]) -> Mirrored:
    if not path:
        raise RegistrationError(f"{ANNOTATION} stands where not only `properties` lead")
    where, name, type_ = ".".join(path), schema[ANNOTATION], schema.get("type")
    if not isinstance(name, str) or not _TOKEN.fullmatch(name):
        raise RegistrationError(f"{ANNOTATION} of {where} is not an HTTP field name: {name!r}")
    if not isinstance(type_, str) or type_ not in _TYPES:
        raise RegistrationError(f"{ANNOTATION} of {where} needs type string, integer or boolean, not {type_!r}")
    return Mirrored(path, MCP_PARAM_PREFIX + name, type_)


def param_headers(parameters: ParameterMap, arguments: Mapping[str, Any]) -> dict[str, str]:
    """The headers a client sends with a `tools/call`; an integer beyond ±(2^53 - 1) raises `ValueError`."""
    headers: dict[str, str] = {}
    for mirrored in parameters:
        text = _text(_value(mirrored.path, arguments))
        if text is not None:
            headers[mirrored.header] = encode_value(text)
    return headers


def mismatch(parameters: ParameterMap, arguments: Mapping[str, Any], headers: Headers) -> str | None:
    """The first way in which headers and arguments disagree, in words for the peer; None if they agree.

    A parameter that is absent, null, or no string, integer or boolean has no header, and may have none. On a transport
    without headers (`NO_HEADERS`) there is nothing to disagree.
    """
    if headers is NO_HEADERS:
        return None
    for mirrored in parameters:
        reason = _disagreement(mirrored, _value(mirrored.path, arguments), headers.all(mirrored.header))
        if reason is not None:
            return f"{mirrored.header} {reason} (parameter {_dotted(mirrored)})"
    return None


def _disagreement(mirrored: Mirrored, value: Any, lines: Sequence[str]) -> str | None:
    try:
        text = _text(value)
    except ValueError as error:
        return str(error)
    if len(lines) > 1:
        return "is given more than once"
    if not lines:
        return None if text is None else "is missing"
    if text is None:
        return "is given, but the body has no value for it"
    given = decode_value(lines[0])
    if given is None:
        return "is not a valid header value"
    if given == text or (mirrored.type == "integer" and _same_integer(given, value)):
        return None
    return "does not match the body"


def _same_integer(given: str, value: Any) -> bool:
    number = _INTEGRAL.fullmatch(given)
    return number is not None and not isinstance(value, bool | str) and int(number[1]) == value


def _value(path: tuple[str, ...], arguments: Mapping[str, Any]) -> Any:
    node: Any = arguments
    for name in path:
        if not isinstance(node, Mapping):
            return None
        node = node.get(name)
    return node


def _text(value: Any) -> str | None:
    """How a value is written in a header; None for one that has no header."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return value
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if not isinstance(value, int):
        return None
    if abs(value) > MAX_SAFE_INTEGER:
        raise ValueError("mirrors an integer beyond the safe range of JavaScript")
    return str(value)


def _dotted(mirrored: Mirrored) -> str:
    return ".".join(mirrored.path)
