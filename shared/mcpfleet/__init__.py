"""mcpfleet: the MCP application server for Python.

Write typed functions, register them with a `Server`, and serve them with `mcpfleet serve` as a fleet of identical,
stateless processes.
"""

from mcpfleet.errors import (
    BackplaneError,
    Cancelled,
    McpFleetError,
    MissingCapability,
    ProtocolError,
    QuestionFailed,
    RegistrationError,
    ResourceNotFound,
    SettingsError,
    ToolError,
)
from mcpfleet.protocol import apps, forms, tracecontext
from mcpfleet.protocol.messages import (
    Annotations,
    AudioContent,
    CallToolResult,
    Completion,
    CreateMessage,
    CreateMessageResult,
    ElicitForm,
    ElicitResult,
    ElicitUrl,
    EmbeddedResource,
    GetPromptResult,
    Icon,
    ImageContent,
    ListRoots,
    ListRootsResult,
    ModelHint,
    ModelPreferences,
    PromptArgument,
    PromptMessage,
    ReadResourceResult,
    Resource,
    ResourceContents,
    ResourceLink,
    ResourceTemplate,
    Root,
    SamplingMessage,
    TextContent,
    ToolAnnotations,
    ToolChoice,
    ToolResultContent,
    ToolUseContent,
)
from mcpfleet.protocol.questions import InputRequiredResult
from mcpfleet.protocol.wire import CacheHint
from mcpfleet.server.auth import Principal
from mcpfleet.server.context import Context
from mcpfleet.server.depends import Depends
from mcpfleet.server.elicitation import Elicited
from mcpfleet.server.failures import Failed
from mcpfleet.server.fleet import Fleet
from mcpfleet.server.hooks import CallNext
from mcpfleet.server.incoming import Incoming
from mcpfleet.server.prompt import Prompt
from mcpfleet.server.server import Server
from mcpfleet.server.tool import Tool
from mcpfleet.server.topics import Topic
from mcpfleet.server.visits import UrlElicitationRequired

__all__ = [
    "Annotations",
    "AudioContent",
    "BackplaneError",
    "CacheHint",
    "CallNext",
    "CallToolResult",
    "Cancelled",
    "Completion",
    "Context",
    "CreateMessage",
    "CreateMessageResult",
    "Depends",
    "ElicitForm",
    "ElicitResult",
    "ElicitUrl",
    "Elicited",
    "EmbeddedResource",
    "Failed",
    "Fleet",
    "GetPromptResult",
    "Icon",
    "ImageContent",
    "Incoming",
    "InputRequiredResult",
    "ListRoots",
    "ListRootsResult",
    "McpFleetError",
    "MissingCapability",
    "ModelHint",
    "ModelPreferences",
    "Principal",
    "Prompt",
    "PromptArgument",
    "PromptMessage",
    "ProtocolError",
    "QuestionFailed",
    "ReadResourceResult",
    "RegistrationError",
    "Resource",
    "ResourceContents",
    "ResourceLink",
    "ResourceNotFound",
    "ResourceTemplate",
    "Root",
    "SamplingMessage",
    "Server",
    "SettingsError",
    "TextContent",
    "Tool",
    "ToolAnnotations",
    "ToolChoice",
    "ToolError",
    "ToolResultContent",
    "ToolUseContent",
    "Topic",
    "UrlElicitationRequired",
    "apps",
    "forms",
    "tracecontext",
]
