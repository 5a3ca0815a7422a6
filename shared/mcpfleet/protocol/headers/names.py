"""The names of headers, as they are written; they are compared without regard to case."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from mcpfleet.protocol.tasks import METHODS as TASK_METHODS

ACCEPT: Final = "Accept"
ALLOW: Final = "Allow"
CONTENT_TYPE: Final = "Content-Type"
LAST_EVENT_ID: Final = "Last-Event-ID"
MCP_METHOD: Final = "Mcp-Method"
MCP_NAME: Final = "Mcp-Name"
MCP_PARAM_PREFIX: Final = "Mcp-Param-"
MCP_PROTOCOL_VERSION: Final = "MCP-Protocol-Version"
MCP_SESSION_ID: Final = "Mcp-Session-Id"

NAMED_BY: Final[Mapping[str, str]] = MappingProxyType(
    {
        "tools/call": "name",
        "prompts/get": "name",
        "resources/read": "uri",
        **dict.fromkeys(sorted(TASK_METHODS), "taskId"),
    }
)
"""Which parameter of a method `Mcp-Name` mirrors (Streamable HTTP, "Standard Request Headers"; the tasks extension,
"Streamable HTTP: Routing Headers")."""
