"""What a message is for, in words of ours: what clients make up would be a name of its own each time."""

from typing import Final

from mcpfleet.errors import ProtocolError, ToolError
from mcpfleet.protocol import tasks
from mcpfleet.protocol.messages.tools import CallToolResult
from mcpfleet.protocol.methods import NOTIFICATIONS, STANDARD
from mcpfleet.server.incoming import Incoming
from mcpfleet.server.server import Server

METHODS: Final = STANDARD | NOTIFICATIONS | tasks.METHODS | {"skills/list", "skills/get"}
OTHER: Final = "_OTHER"
TOOL_ERROR: Final = "tool_error"


class Subjects:
    """Names what the messages of one server are for, and what they come to."""

    def __init__(self, server: Server) -> None:
        self._server = server

    def method(self, message: Incoming) -> str:
        """Its method, if there is any such."""
        method, registry = message.method, self._server.registry
        own = registry.methods.get(method) is not None or registry.notifications.get(method) is not None
        return method if own or method in METHODS else OTHER

    def target(self, message: Incoming) -> str | None:
        """The tool or prompt that it is for, if there is one of that name; never a URI."""
        name, registry = message.target, self._server.registry
        match message.method:
            case "tools/call":
                is_known = registry.tools.get(name) is not None
            case "prompts/get":
                is_known = registry.prompts.get(name) is not None
            case _:
                is_known = False
        return name if is_known else None


def failure_in(result: object) -> str | None:
    """What kind of failure a result tells of, if it does."""
    return TOOL_ERROR if isinstance(result, CallToolResult) and result.is_error else None


def failure_of(raised: Exception) -> str:
    """What kind of failure an exception is: the code of an error, or the name of its type."""
    if isinstance(raised, ProtocolError):
        return str(raised.code)
    return TOOL_ERROR if isinstance(raised, ToolError) else type(raised).__qualname__
