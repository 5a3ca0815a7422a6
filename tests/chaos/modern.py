"""What a modern client of a chaos run sends: requests that stand alone, each to any process."""

import json
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from typing import Any

from mcpfleet.protocol.headers import NAMED_BY
from mcpfleet.protocol.meta import CLIENT_CAPABILITIES, CLIENT_INFO, LOG_LEVEL, META, PROTOCOL_VERSION
from mcpfleet.protocol.revisions import LATEST
from tests.chaos.ledger import Call, End, Said
from tests.chaos.stage import ACCEPT, ME, Stage, ending_of, response_of
from tests.chaos.wire import Cut, Json, Reply


class ModernClient:
    """One principal's client."""

    def __init__(self, stage: Stage, principal: str, *, extensions: Mapping[str, Json] | None = None) -> None:
        self.stage = stage
        self.principal = principal
        self._capabilities: Json = {"elicitation": {}, **({"extensions": dict(extensions)} if extensions else {})}

    def posting(self, method: str, params: Json, request_id: Any) -> AbstractAsyncContextManager[Reply]:
        """Send a request, and read its reply in the block."""
        meta = {
            PROTOCOL_VERSION: LATEST.date,
            CLIENT_INFO: ME,
            CLIENT_CAPABILITIES: self._capabilities,
            LOG_LEVEL: "info",
        }
        named = NAMED_BY.get(method, "")
        headers = {
            **ACCEPT,
            "Authorization": f"Bearer {self.principal}",
            "MCP-Protocol-Version": LATEST.date,
            "Mcp-Method": method,
            **({"Mcp-Name": params[named]} if named in params else {}),
        }
        message = {"jsonrpc": "2.0", "id": request_id, "method": method, "params": {**params, META: meta}}
        return self.stage.door.sent("POST", headers, message)

    async def call(self, call: Call, **arguments: Any) -> End:
        """Call a tool once, and hear its response."""
        params = {"name": call.tool, "arguments": {"tag": call.tag, **arguments}}
        found = await self.heard(call, params)
        if isinstance(found, End):
            return found
        call.responses.append(response_of(found))
        return End.ANSWERED

    async def heard(self, call: Call, params: Json, *, hang_up: bool = False) -> Json | End:
        """The response to one request, or how else it ended; what comes before goes into the ledger."""
        found: list[Json] = []
        try:
            async with self.posting("tools/call", params, call.tag) as reply:
                if not reply.is_stream:
                    return await reply.message()
                async for event in reply.events():
                    message = json.loads(event.data or b"{}")
                    if "method" not in message:
                        found.append(message)
                    elif message["method"] == "notifications/message":
                        said = message["params"]["data"]
                        call.said.append(Said(said["principal"], said["tag"], said["number"]))
                        if hang_up:
                            return End.CANCELLED
        except Cut as cut:
            return found[0] if found else ending_of(cut)
        call.responses += [response_of(message) for message in found[1:]]
        return found[0] if found else End.EMPTY
