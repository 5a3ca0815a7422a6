"""Clients that watch everything: a legacy session with its GET streams, and a modern stream after the other."""

import asyncio
import json
from typing import Final

from tests.chaos.ledger import CYCLE, EVERYBODY, GAP, Notice, Subscription, uri_of
from tests.chaos.legacy import LegacyClient
from tests.chaos.modern import ModernClient
from tests.chaos.stage import Stage
from tests.chaos.wire import Cut, Reply

UPDATED: Final = "notifications/resources/updated"
ACKNOWLEDGED: Final = "notifications/subscriptions/acknowledged"
LIVES_SECONDS: Final = (20.0, 60.0)
"""How long a session is watched before its client ends it and begins another."""


class LegacyWatcher:
    """Subscribes to everything that may be told to its principal, and to what may not."""

    def __init__(self, stage: Stage, name: str, principal: str, date: str, uris: list[str]) -> None:
        self._stage = stage
        self._random = stage.random(name)
        self._client = LegacyClient(stage, principal, date)
        self._uris = uris

    async def run(self) -> None:
        """Watch with one session after the other, until cancelled."""
        while not self._stage.over.is_set():
            began = self._stage.now()
            if await self._client.begin() and await self._subscribed():
                subscription = Subscription(self._client.principal, True, began, self._stage.now())
                self._stage.ledger.subscriptions.append(subscription)
                try:
                    async with asyncio.timeout(self._random.uniform(*LIVES_SECONDS)) as life:
                        await self._watched(subscription)
                except TimeoutError:
                    if not life.expired():
                        raise
                    subscription.closed = self._stage.now()
                    await self._client.end()
                finally:
                    if subscription.closed is None:
                        subscription.closed = self._stage.now()

    async def _subscribed(self) -> bool:
        return all([await self._client.asked("resources/subscribe", {"uri": uri}) for uri in self._uris])

    async def _watched(self, subscription: Subscription) -> None:
        """Read the session's stream, from connection to connection, until the session is gone."""
        place = ""
        while self._client.entry.gone is None:
            notices: list[Notice] = []
            subscription.connections.append(notices)
            cut_after = self._random.randint(1, 40)
            try:
                async with self._client.listening(place) as reply:
                    if reply.status == 404:
                        self._client.lost()
                    if reply.is_stream:
                        async for event in reply.events():
                            place = event.id or place
                            notices += noticed(event.data, self._stage.now())
                            if len(notices) >= cut_after:
                                break
            except Cut:
                pass
            await self._stage.pause(self._random)


class ModernWatcher:
    """Listens for everything that may be told to its principal, and for what may not."""

    def __init__(self, stage: Stage, name: str, principal: str, uris: list[str]) -> None:
        self._stage = stage
        self._random = stage.random(name)
        self._client = ModernClient(stage, principal)
        self._uris = uris

    async def run(self) -> None:
        """Open one stream after the other, until cancelled."""
        params = {"notifications": {"resourceSubscriptions": self._uris}}
        while True:
            try:
                async with self._client.posting("subscriptions/listen", params, "watch") as reply:
                    await self._watched(reply)
            except Cut:
                pass
            await self._stage.pause(self._random)

    async def _watched(self, reply: Reply) -> None:
        subscription = None
        try:
            async for event in reply.events():
                now = self._stage.now()
                if subscription is None:
                    if json.loads(event.data or b"{}").get("method") != ACKNOWLEDGED:
                        return
                    subscription = Subscription(self._client.principal, False, now, now, connections=[[]])
                    self._stage.ledger.subscriptions.append(subscription)
                subscription.connections[0].extend(noticed(event.data, now))
        finally:
            if subscription is not None:
                subscription.closed = self._stage.now()


def watched_by_all(owners: tuple[str, ...]) -> list[str]:
    """Every resource that an event may be about, and the one that tells a gap."""
    return [GAP, *(uri_of(owner, serial) for owner in (*owners, EVERYBODY) for serial in range(CYCLE))]


def noticed(data: bytes | None, now: float) -> list[Notice]:
    """What an event tells of a resource."""
    message = json.loads(data) if data else {}
    return [Notice(now, message["params"]["uri"])] if message.get("method") == UPDATED else []
