"""The exceptions of mcpfleet, in one tree; what only one module raises is defined there, and hangs in it too.

    McpFleetError
    ├── BackplaneError                the store between processes
    │   ├── Unavailable               nothing was sent
    │   │   └── InDoubt               it may have happened, or may yet
    │   ├── KeyRefused                a key in the store that this process cannot unwrap
    │   ├── LogGap                    what follows this position is not what followed it
    │   ├── LogGone                   the log is not open
    │   ├── LogMoved                  the log ends elsewhere: `end`
    │   ├── NameRefused               a key or log name that no backend may take
    │   ├── TooLarge                  an entry or value above the bound
    │   └── UnknownFormat             a stored value of another format version
    ├── Cancelled                     a request was cancelled: for its handler by the client, for its caller by a token
    ├── ClientError                   what a client asked of a server did not come about
    │   ├── Disconnected              the connection ended before the answer: it may have run
    │   │   └── Unreachable           the server cannot be reached: it has not run
    │   ├── HttpRefused               the server answered with an HTTP status, and no message: `status`
    │   ├── InputNeeded               the server wants answers that nobody here gives
    │   ├── NegotiationFailed         no version of the protocol is spoken by both
    │   ├── RemoteError               the server answered with a JSON-RPC error: `code`, `message`, `data`
    │   ├── ReplyRefused              the server answered what the protocol does not allow
    │   └── RequestTimedOut           no answer came in time
    ├── EventTooLarge                 a server-sent event above its reader's bound (protocol.sse)
    ├── LifespanFailed                what a server needs cannot be set up, so it does not start
    ├── LineTooLong                   a line above its reader's bound (protocol.lines)
    ├── NotJson                       a text or value that is not JSON as peers agree on it (protocol.jsontext)
    ├── OutputRefused                 a tool returned what its output schema, or JSON, does not allow
    ├── ProtocolError                 a JSON-RPC error for the peer: `code`, `message`, `data`
    │   ├── MissingCapability         the client has not declared what a question to it takes
    │   └── ResourceNotFound          nothing is at this URI
    ├── RegistrationError             a tool that cannot be served, found at registration
    ├── SettingsError                 a setting that cannot be used, by its variable's name
    └── ToolError                     text that a tool wants the model to read
        ├── ArgumentsRefused          arguments that do not fit, by the field's name
        ├── Overloaded                more synchronous tools are called than threads and places in line allow
        └── QuestionFailed            a question to the client has no answer
            ├── AnswerRefused         what the client answered does not fit the question
            ├── CannotAsk             this request, or its protocol version, has no way to ask it
            ├── ClientRefused         the client answered with an error: `code`, `message`, `data`
            └── NotAnswered           no answer came in time, or it was lost

`ToolError` and `ProtocolError` are public text: their words reach the peer. The words of no other exception do.
"""

from collections.abc import Mapping
from typing import Any


class McpFleetError(Exception):
    """The root of the tree; catch it to catch everything of ours."""


class BackplaneError(McpFleetError):
    """The store between processes refused, or could not be asked."""


class Unavailable(BackplaneError):
    """Nothing was sent: the command did not happen and never will."""


class InDoubt(Unavailable):
    """The command may have happened, or may happen yet; only a conditional repeat or a read can tell."""


class KeyRefused(BackplaneError):
    """A key in the store is wrapped with another key than this process has."""


class LogGap(BackplaneError):
    """What follows this position now is not what followed it: entries were trimmed, expired or rewritten."""


class LogGone(BackplaneError):
    """The log is not open: never opened, expired or deleted."""


class LogMoved(BackplaneError):
    """The log does not end where the writer expected; `end` is the text of the position where it does."""

    def __init__(self, end: str) -> None:
        super().__init__(f"the log ends at {end}")
        self.end = end


class NameRefused(BackplaneError, ValueError):
    """The name of a key, log or pool breaks the rules of `backplane.base`."""


class TooLarge(BackplaneError, ValueError):
    """A value or entry exceeds what the backplane carries in one piece."""


class UnknownFormat(BackplaneError):
    """A stored value carries a format version that this build does not know; it is refused, never misread."""


class Cancelled(McpFleetError):
    """The request was cancelled; raised by `Context.raise_if_cancelled`, and by a client whose `CancelToken` was used.

    `reason` is that of whoever cancelled it.
    """

    def __init__(self, reason: str | None = None) -> None:
        super().__init__(reason or "the request was cancelled")
        self.reason = reason


class ClientError(McpFleetError):
    """What a client asked of a server did not come about."""


class Disconnected(ClientError):
    """The connection ended before the answer came: whether the request has run is not known."""


class Unreachable(Disconnected):
    """The server cannot be reached: nothing was sent, and nothing has run."""


class HttpRefused(ClientError):
    """The server, or something before it, answered with an HTTP status and no message; `text` is not to be trusted."""

    def __init__(self, status: int, text: str = "") -> None:
        super().__init__(f"HTTP status {status}")
        self.status = status
        self.text = text


class InputNeeded(ClientError):
    """The server wants answers before it goes on, and nobody here gives them, or it wants them again and again."""


class NegotiationFailed(ClientError):
    """No version of the protocol is spoken by both sides."""


class RemoteError(ClientError):
    """The server answered with a JSON-RPC error; its words are its own."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(f"{message} ({code})")
        self.code = code
        self.message = message
        self.data = data


class ReplyRefused(ClientError):
    """The server answered what the protocol, or the schema of its own tool, does not allow."""


class RequestTimedOut(ClientError, TimeoutError):
    """No answer came in time; the server was told that nobody waits any more."""


class LifespanFailed(McpFleetError):
    """A server's lifespan could not be entered, so the process does not start; the cause is what it raised."""


class OutputRefused(McpFleetError):
    """What a tool returned breaks its output schema or has no JSON form: the tool's fault, not the caller's."""


class ProtocolError(McpFleetError):
    """A JSON-RPC error response; `message` and `data` reach the peer as they are.

    So does `code`, but for what only other revisions define: codes from -32099 to -32000 belong to the protocol.
    """

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data


class MissingCapability(ProtocolError):
    """The client has not declared the capabilities that a question takes; none of it was sent."""

    def __init__(self, required: Mapping[str, Any]) -> None:
        names = ", ".join(sorted(required))
        super().__init__(
            -32021,
            f"The client has not declared a capability that is needed: {names}",
            {"requiredCapabilities": required},
        )


class ResourceNotFound(ProtocolError):
    """Nothing is at this URI; raised by what reads resources, or for a URI that nothing reads."""

    def __init__(self, uri: str, message: str = "Resource not found") -> None:
        super().__init__(-32002, message, {"uri": uri})  # each revision has its own code for it, see `protocol.wire`
        self.uri = uri


class RegistrationError(McpFleetError, ValueError):
    """A tool, prompt or resource cannot be served as declared; raised while registering, never while serving."""


class SettingsError(McpFleetError, ValueError):
    """A setting cannot be used; the message names its environment variable."""


class ToolError(McpFleetError):
    """Raised by a tool to tell the model what went wrong: a result with `isError: true` and this text."""


class ArgumentsRefused(ToolError):
    """The arguments of a call do not fit the tool; one line a complaint, each beginning with the field's name."""


class Overloaded(ToolError):
    """Every thread, or every place of a tool, is taken and the line is full, or did not move for too long."""

    def __init__(self) -> None:
        super().__init__("The server is overloaded; try again later.")


class QuestionFailed(ToolError):
    """A question that a handler asked its client has no answer."""


class AnswerRefused(QuestionFailed):
    """The client answered what does not fit the question."""


class CannotAsk(QuestionFailed):
    """The request that is served has no way back for a question, or the client's protocol version has no such one."""


class ClientRefused(QuestionFailed):
    """The client answered a question with an error; its words are its own."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(f"The client answered a question with an error: {message} ({code})")
        self.code = code
        self.message = message
        self.data = data


class NotAnswered(QuestionFailed):
    """No answer came in time, or it was lost with the store."""
