"""Bodies with several messages, which one legacy revision has (JSON-RPC 2.0, section 6)."""

import asyncio
from collections.abc import Awaitable, Callable

from mcpfleet.errors import Unavailable
from mcpfleet.protocol.jsonrpc import Batch, Malformed, Notification, Request, encode_failure
from mcpfleet.server.eras.requests import Requests, Sender
from mcpfleet.server.notices import CROWDED
from mcpfleet.server.outcome import STORE_AWAY
from mcpfleet.server.peer import ACCEPTED, Answer, whole

Notified = Callable[[Notification, Sender], Awaitable[bool]]


async def serve_batch(
    batch: Batch, sender: Sender, accepts: frozenset[str], requests: Requests, notified: Notified
) -> Answer:
    """Serve every message of a batch; 202 if none of them has a response.

    Notifications come first, so that `Unavailable` is raised, or one is not taken, before any request was begun.
    """
    for message in batch.messages:
        if isinstance(message, Notification) and not await notified(message, sender):
            return CROWDED
    asked = [message for message in batch.messages if isinstance(message, Request | Malformed)]
    async with asyncio.TaskGroup() as tasks:
        serving = [tasks.create_task(_response(message, sender, requests)) for message in asked]
    responses = [response for task in serving if (response := task.result()) is not None]
    return whole(b"[" + b",".join(responses) + b"]", accepts) if responses else ACCEPTED


async def _response(message: Request | Malformed, sender: Sender, requests: Requests) -> bytes | None:
    if isinstance(message, Malformed):
        return encode_failure(message.id, message.code, message.message)
    try:
        return await requests.body(message, sender)
    except Unavailable:
        return encode_failure(message.id, STORE_AWAY.code, STORE_AWAY.message, STORE_AWAY.data)
