"""Whoever publishes the events of one owner, one after the other, each through any process."""

import asyncio

from tests.chaos.ledger import EVERYBODY, Call, End, Event
from tests.chaos.modern import ModernClient
from tests.chaos.stage import Stage


class Publisher:
    """Publishes until the run is over; an event of which nobody knows is not published again."""

    def __init__(self, stage: Stage, owner: str, principal: str, pause: float) -> None:
        self._stage = stage
        self._owner = owner
        self._pause = pause
        self._random = stage.random(f"publisher of {owner}")
        self._client = ModernClient(stage, principal)

    async def run(self) -> None:
        """Publish event after event."""
        serial = 0
        while not self._stage.over.is_set():
            event = Event(self._owner, serial, self._stage.now())
            self._stage.ledger.events.append(event)
            call = Call(
                self._client.principal, f"{self._client.principal}/{self._owner}/{serial}", "publish", event.began
            )
            alone = self._owner != EVERYBODY
            await self._stage.ended(call, self._client.call(call, uri=event.uri, to_me_alone=alone))
            if call.end is End.ANSWERED and not call.responses[0].failure:
                event.acknowledged = self._stage.now()
            serial += 1
            await asyncio.sleep(self._random.uniform(0.5, 1.5) * self._pause)
