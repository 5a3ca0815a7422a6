"""mcpfleet: the MCP application server for Python.

Write typed functions, register them with a `Server`, and serve them with `mcpfleet serve` as a fleet of identical,
stateless processes.
"""

from mcpfleet.errors import (
    BackplaneError,
    Cancelled,
    McpFleetError,
    ProtocolError,
    RegistrationError,
    SettingsError,
    ToolError,
)
from mcpfleet.protocol.messages import (
    Annotations,
    AudioContent,
    CallToolResult,
    EmbeddedResource,
    Icon,
    ImageContent,
    ResourceLink,
    TextContent,
    ToolAnnotations,
)
from mcpfleet.server.auth import Principal
from mcpfleet.server.context import Context
from mcpfleet.server.server import Server
from mcpfleet.server.tool import Tool

__all__ = [
    "Annotations",
    "AudioContent",
    "BackplaneError",
    "CallToolResult",
    "Cancelled",
    "Context",
    "EmbeddedResource",
    "Icon",
    "ImageContent",
    "McpFleetError",
    "Principal",
    "ProtocolError",
    "RegistrationError",
    "ResourceLink",
    "Server",
    "SettingsError",
    "TextContent",
    "Tool",
    "ToolAnnotations",
    "ToolError",
]
