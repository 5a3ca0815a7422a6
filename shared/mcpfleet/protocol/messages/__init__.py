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
from mcpfleet.protocol.messages.elicitation import Action, ElicitForm, ElicitResult, ElicitUrl
from mcpfleet.protocol.messages.lifecycle import (
    DiscoverResult,
    Implementation,
    InitializeResult,
    ListChangedCapability,
    ResourcesCapability,
    ServerCapabilities,
)
from mcpfleet.protocol.messages.notifications import LOG_LEVELS, Cancelled, LogLevel, LogMessage, Progress
from mcpfleet.protocol.messages.roots import ListRoots, ListRootsResult, Root
from mcpfleet.protocol.messages.sampling import (
    CreateMessage,
    CreateMessageResult,
    ModelHint,
    ModelPreferences,
    SamplingContent,
    SamplingMessage,
    ToolChoice,
    ToolResultContent,
    ToolUseContent,
)
from mcpfleet.protocol.messages.tools import CallToolResult, ListToolsResult, Tool, ToolAnnotations

__all__ = [
    "LOG_LEVELS",
    "Action",
    "Annotations",
    "AudioContent",
    "CallToolResult",
    "Cancelled",
    "ContentBlock",
    "CreateMessage",
    "CreateMessageResult",
    "DiscoverResult",
    "ElicitForm",
    "ElicitResult",
    "ElicitUrl",
    "EmbeddedResource",
    "Icon",
    "ImageContent",
    "Implementation",
    "InitializeResult",
    "ListChangedCapability",
    "ListRoots",
    "ListRootsResult",
    "ListToolsResult",
    "LogLevel",
    "LogMessage",
    "ModelHint",
    "ModelPreferences",
    "Progress",
    "ResourceContents",
    "ResourceLink",
    "ResourcesCapability",
    "Root",
    "SamplingContent",
    "SamplingMessage",
    "ServerCapabilities",
    "TextContent",
    "Tool",
    "ToolAnnotations",
    "ToolChoice",
    "ToolResultContent",
    "ToolUseContent",
]
