"""Where exceptions become words for the peer: what is meant for it is told, and of all else a correlation id."""

import asyncio
from typing import Final

from mcpfleet.errors import ProtocolError, ToolError
from mcpfleet.protocol.messages.content import TextContent
from mcpfleet.protocol.messages.tools import CallToolResult
from mcpfleet.server.cancellation import reason_of
from mcpfleet.server.context import Context
from mcpfleet.server.failures import Failures
from mcpfleet.server.incoming import Incoming
from mcpfleet.server.outcome import STORE_AWAY, Outcome, Refusal, Success

CALL_TOOL: Final = "tools/call"


class StoreAway(ProtocolError):
    """The store must be asked and cannot be: `STORE_AWAY`, as an exception."""

    def __init__(self) -> None:
        super().__init__(STORE_AWAY.code, STORE_AWAY.message, STORE_AWAY.data)


def outcome_of(error: BaseException, message: Incoming, context: Context, failures: Failures) -> Outcome:
    """What a request has come to that raised this; raises what is not the author's failure, but the request's end.

    What the protocol wants as the result of a tool becomes one.
    """
    if isinstance(error, StoreAway):
        return STORE_AWAY
    if isinstance(error, ToolError) and message.method == CALL_TOOL:
        return _failed(str(error))
    if isinstance(error, ProtocolError | ToolError):
        return Refusal.because(error)
    if not is_ours(error):
        context.cancel(reason_of(error))
        raise error
    correlation = failures.note(error, message)
    if message.method == CALL_TOOL:
        return _failed(f"The tool failed. Correlation id: {correlation}")
    return Refusal.internal(correlation)


def is_ours(error: BaseException) -> bool:
    """Whether an exception is the author's failure, to be logged and told, and not the end of its task or process.

    A `CancelledError` that nobody asked of this task comes from another one that the handler waited for.
    """
    if isinstance(error, asyncio.CancelledError):
        task = asyncio.current_task()
        return task is not None and not task.cancelling()
    return isinstance(error, Exception | BaseExceptionGroup)


def _failed(text: str) -> Success:
    return Success(CallToolResult(content=(TextContent(text=text),), is_error=True))
