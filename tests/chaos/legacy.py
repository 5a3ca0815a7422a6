"""What a legacy client of a chaos run sends: one session after the other, each message to any process."""

import asyncio
import itertools
import json
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any, Final

from mcpfleet.protocol.sse import Decoder
from tests.chaos.ledger import Session
from tests.chaos.stage import ACCEPT, ME, Stage, response_of
from tests.chaos.wire import Cut, Json, Reply

FORMS_SINCE: Final = "2025-06-18"
HEADERS_SINCE: Final = "2025-06-18"


class LegacyClient:
    """One principal's client in one revision; it has a session, or `begin`s the next one."""

    def __init__(self, stage: Stage, principal: str, date: str) -> None:
        self.stage = stage
        self.principal = principal
        self.date = date
        self.id = ""
        self.entry: Session
        self._random = stage.random(f"{principal} {date}")
        self._ids = itertools.count(1)

    async def begin(self) -> bool:
        """Shake hands; False if the run is over, or the session was lost again before it was of use."""
        able: Json = {"elicitation": {}} if self.date >= FORMS_SINCE else {"sampling": {}}
        params = {"protocolVersion": self.date, "capabilities": able, "clientInfo": ME}
        self.id = ""
        while not self.stage.over.is_set():
            began = self.stage.now()
            try:
                async with self.posting("initialize", params, 0) as reply:
                    await reply.message()
            except Cut:
                await self.stage.pause(self._random)
                continue
            if reply.status == 200:
                self.id, self.entry = reply.session, Session(self.principal, began)
                self.stage.ledger.sessions.append(self.entry)
                await self.told("notifications/initialized")
                return await self.asked("logging/setLevel", {"level": "info"})
            await self.stage.pause(self._random)
        return False

    async def end(self) -> None:
        """Terminate the session, and look whether any process still serves it."""
        self.entry.ended = self.stage.now()
        status = await self._until_known("DELETE", lambda: self.stage.door.sent("DELETE", self.headers()))
        for _ in range(3 if status == 204 else 0):
            self.entry.outlived |= await self._status(self.posting("ping", {}, "late")) == 200

    async def asked(self, method: str, params: Json) -> bool:
        """Send a request until it is answered; False if the session is gone."""
        status = await self._until_known(method, lambda: self.posting(method, params, self.next_id()))
        if status == 404:
            self.lost()
        return status == 200

    async def told(self, method: str, params: Json | None = None) -> int:
        """Send a notification once; the status, or 0 if nobody knows."""
        return await self._status(self._post({"jsonrpc": "2.0", "method": method, "params": params or {}}))

    async def answered(self, request_id: str, result: Json) -> int:
        """Answer a question once; the status, or 0 if nobody knows."""
        return await self._status(self._post({"jsonrpc": "2.0", "id": request_id, "result": result}))

    def posting(self, method: str, params: Json, request_id: Any) -> AbstractAsyncContextManager[Reply]:
        """Send a request, and read its reply in the block."""
        return self._post({"jsonrpc": "2.0", "id": request_id, "method": method, "params": params})

    def listening(self, place: str) -> AbstractAsyncContextManager[Reply]:
        """Open a stream, or take one up after an event."""
        return self.stage.door.sent("GET", {**self.headers(), **({"Last-Event-ID": place} if place else {})})

    def lost(self) -> None:
        """Note that the session was not found."""
        if self.entry.gone is None:
            self.entry.gone = self.stage.now()

    def next_id(self) -> int:
        """An id that no other request of the session has."""
        return next(self._ids)

    def headers(self) -> dict[str, str]:
        """Those of every request."""
        revision = {"MCP-Protocol-Version": self.date} if self.id and self.date >= HEADERS_SINCE else {}
        session = {"Mcp-Session-Id": self.id} if self.id else {}
        return {**ACCEPT, "Authorization": f"Bearer {self.principal}", **session, **revision}

    def _post(self, message: Json) -> AbstractAsyncContextManager[Reply]:
        return self.stage.door.sent("POST", self.headers(), message)

    async def _until_known(self, what: str, send: Callable[[], AbstractAsyncContextManager[Reply]]) -> int:
        """Send a request until a process has answered it; the status, or 0 if that took too long."""
        status = 0
        try:
            async with asyncio.timeout(self.stage.times.deadline):
                while (status := await self._status(send())) in (0, 503):
                    await self.stage.pause(self._random)
        except TimeoutError:
            self.stage.ledger.overdue.append(f"{what} of {self.principal}")
        return status

    async def _status(self, sending: AbstractAsyncContextManager[Reply]) -> int:
        try:
            async with sending as reply:
                body = await reply.body()
        except Cut:
            return 0
        return status_within(body) if reply.is_stream else reply.status


def status_within(body: bytes) -> int:
    """What the status would have been of a response that had become a stream before that was known."""
    messages = [json.loads(event.data) for event in Decoder().feed(body) if event.data]
    if not messages:
        return 0
    reason = response_of(messages[-1]).failure
    return {"": 200, "session_not_found": 404, "store_unavailable": 503}.get(reason, 400)
