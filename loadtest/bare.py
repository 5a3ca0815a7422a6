"""The base of every ratio: an ASGI app that decodes the same body, adds two integers and encodes a reply."""

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

import msgspec

Message = MutableMapping[str, Any]


async def app(
    scope: Message, receive: Callable[[], Awaitable[Message]], send: Callable[[Message], Awaitable[None]]
) -> None:
    """Answer a POST; nothing is checked."""
    body = b""
    more = True
    while more:
        message = await receive()
        body += message.get("body", b"")
        more = message.get("more_body", False)
    request = msgspec.json.decode(body)
    arguments = request["params"]["arguments"]
    total = arguments["a"] + arguments["b"]
    result = {"content": [{"type": "text", "text": str(total)}], "structuredContent": total}
    reply = msgspec.json.encode({"jsonrpc": "2.0", "id": request["id"], "result": result})
    headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(reply))]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": reply})
