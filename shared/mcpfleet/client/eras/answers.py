"""Reading one exchange to its answer, in either era."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from mcpfleet.client.ask import Hear
from mcpfleet.client.messages import is_answer
from mcpfleet.client.transport import Exchange
from mcpfleet.errors import Disconnected, RemoteError
from mcpfleet.protocol.jsonrpc import Failure, Notification, Reply, Request, RequestId

Asked = Callable[[Request], Awaitable[None]]


async def result_in(exchange: Exchange, request_id: RequestId, hear: Hear, asked: Asked) -> Mapping[str, Any]:
    """The result that an exchange ends with; what comes before it is heard, or asked, in order."""
    async for message in exchange:
        match message:
            case Reply() if is_answer(message, request_id):
                return message.result
            case Failure(error=error) if is_answer(message, request_id):
                raise RemoteError(error.code, error.message, error.data)
            case Notification():
                await hear(message)
            case Request():
                await asked(message)
    raise Disconnected("the response ended without an answer")
