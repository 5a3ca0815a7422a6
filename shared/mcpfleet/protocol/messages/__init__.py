"""The vocabulary: one superset of all revisions, in the newest one's words; `wire` takes away what a revision lacks."""

from mcpfleet.protocol.messages.content import (
    Annotations,
    AudioContent,
    ContentBlock,
    EmbeddedResource,
    Icon,
    ImageContent,
    ResourceContents,
    ResourceLink,
    TextContent,
)
from mcpfleet.protocol.messages.lifecycle import (
    DiscoverResult,
    Implementation,
    InitializeResult,
    ListChangedCapability,
    ResourcesCapability,
    ServerCapabilities,
)
from mcpfleet.protocol.messages.notifications import LOG_LEVELS, Cancelled, LogLevel, LogMessage, Progress
from mcpfleet.protocol.messages.tools import CallToolResult, ListToolsResult, Tool, ToolAnnotations

__all__ = [
    "LOG_LEVELS",
    "Annotations",
    "AudioContent",
    "CallToolResult",
    "Cancelled",
    "ContentBlock",
    "DiscoverResult",
    "EmbeddedResource",
    "Icon",
    "ImageContent",
    "Implementation",
    "InitializeResult",
    "ListChangedCapability",
    "ListToolsResult",
    "LogLevel",
    "LogMessage",
    "Progress",
    "ResourceContents",
    "ResourceLink",
    "ResourcesCapability",
    "ServerCapabilities",
    "TextContent",
    "Tool",
    "ToolAnnotations",
]
