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
from mcpfleet.protocol.messages.notifications import Cancelled, LogMessage, Progress
from mcpfleet.protocol.messages.tools import CallToolResult, ListToolsResult, Tool, ToolAnnotations

__all__ = [
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
