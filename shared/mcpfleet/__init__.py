"""mcpfleet: the MCP application server for Python.

Write typed functions, register them with a `Server`, and serve them with `mcpfleet serve` as a fleet of identical,
stateless processes.
"""

from mcpfleet.client.canceltoken import CancelToken
from mcpfleet.client.client import Client
from mcpfleet.errors import (
    BackplaneError,
    Cancelled,
    ClientError,
    Disconnected,
    HttpRefused,
    InputNeeded,
    McpFleetError,
    MissingCapability,
    NegotiationFailed,
    ProtocolError,
    QuestionFailed,
    RegistrationError,
    RemoteError,
    ReplyRefused,
    RequestTimedOut,
    ResourceNotFound,
    SettingsError,
    ToolError,
    Unreachable,
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
    "CancelToken",
    "Cancelled",
    "Client",
    "ClientError",
    "Completion",
    "Context",
    "CreateMessage",
    "CreateMessageResult",
    "Depends",
    "Disconnected",
    "ElicitForm",
    "ElicitResult",
    "ElicitUrl",
    "Elicited",
    "EmbeddedResource",
    "Failed",
    "Fleet",
    "GetPromptResult",
    "HttpRefused",
    "Icon",
    "ImageContent",
    "Incoming",
    "InputNeeded",
    "InputRequiredResult",
    "ListRoots",
    "ListRootsResult",
    "McpFleetError",
    "MissingCapability",
    "ModelHint",
    "ModelPreferences",
    "NegotiationFailed",
    "Principal",
    "Prompt",
    "PromptArgument",
    "PromptMessage",
    "ProtocolError",
    "QuestionFailed",
    "ReadResourceResult",
    "RegistrationError",
    "RemoteError",
    "ReplyRefused",
    "RequestTimedOut",
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
    "Unreachable",
    "UrlElicitationRequired",
    "apps",
    "forms",
    "tracecontext",
]
