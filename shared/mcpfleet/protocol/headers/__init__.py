"""Headers that mirror the body: their names, their value codec and their checks, for server and client alike."""

from mcpfleet.protocol.headers.codec import decode_value, encode_value
from mcpfleet.protocol.headers.names import (
    ACCEPT,
    ALLOW,
    CONTENT_TYPE,
    LAST_EVENT_ID,
    MCP_METHOD,
    MCP_NAME,
    MCP_PARAM_PREFIX,
    MCP_PROTOCOL_VERSION,
    MCP_SESSION_ID,
    NAMED_BY,
)
from mcpfleet.protocol.headers.parameters import Mirrored, mismatch, param_headers, parameter_map
from mcpfleet.protocol.headers.view import NO_HEADERS, Headers

__all__ = [
    "ACCEPT",
    "ALLOW",
    "CONTENT_TYPE",
    "LAST_EVENT_ID",
    "MCP_METHOD",
    "MCP_NAME",
    "MCP_PARAM_PREFIX",
    "MCP_PROTOCOL_VERSION",
    "MCP_SESSION_ID",
    "NAMED_BY",
    "NO_HEADERS",
    "Headers",
    "Mirrored",
    "decode_value",
    "encode_value",
    "mismatch",
    "param_headers",
    "parameter_map",
]
