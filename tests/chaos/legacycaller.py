"""A legacy client under chaos: it calls, answers, cancels, hangs up and comes back, and begins anew when it must."""

import asyncio
import itertools
from typing import Any, Final

from tests.chaos.answers import accept
from tests.chaos.following import Following
from tests.chaos.ledger import Call, Intrusion
from tests.chaos.legacy import LegacyClient
from tests.chaos.stage import ENDLESS_SECONDS, Stage
from tests.chaos.wire import Cut

REPLAYS: Final = 0.3
"""How often the stream of an ended call is replayed."""


class LegacyCaller:
    """Makes one call after the other until the run is over."""

    def __init__(self, stage: Stage, name: str, principal: str, date: str) -> None:
        self._stage = stage
        self._name = name
        self._random = stage.random(name)
        self._client = LegacyClient(stage, principal, date)
        self._serial = itertools.count(1)

    async def run(self) -> None:
        """Use sessions until the run is over."""
        acts = [self._echo, self._twins, self._count, self._ask, self._cancel, self._race, self._intrude, self._renew]
        while await self._client.begin() or not self._stage.over.is_set():
            while not self._stage.over.is_set() and self._client.entry.gone is None:
                [act] = self._random.choices(acts, [10, 1, 3, 3, 1, 1, 1, 0.3])
                await act()
                await self._stage.pause(self._random)
                if self._client.entry.ended is not None:
                    break

    async def _echo(self) -> None:
        await self._made(self._call("echo"))

    async def _twins(self) -> None:
        """Two calls at once with the same id."""
        request_id = self._client.next_id()
        await asyncio.gather(*(self._made(self._call("echo"), request_id) for _ in range(2)))

    async def _count(self) -> None:
        n = self._random.randint(1, 25)
        cut = self._random.randint(0, n) if self._random.random() < 0.5 else None
        call = self._call("count")
        call.says = n
        following = await self._made(call, cut_after=cut, n=n, delay=self._random.choice([0.0, 0.02, 0.08]))
        has_result = bool(call.responses) and not call.responses[0].failure
        if has_result and following.places and self._random.random() < REPLAYS:
            await self._replay(call, following)

    async def _replay(self, call: Call, following: Following) -> None:
        """Take the stream of an ended call up again in its midst: all that came after is there once more."""
        place, heard = self._random.choice(following.places)
        again = Call(call.principal, call.tag, "replayed count", self._stage.now(), call.says, call.said[:heard])
        await self._stage.ended(again, Following(self._client, again, 0, self._random).replayed(place))

    async def _ask(self) -> None:
        await self._made(self._call("ask"))

    async def _cancel(self) -> None:
        call, request_id, begun = self._call("wait"), self._client.next_id(), asyncio.Event()
        async with asyncio.TaskGroup() as tasks:
            canceller = tasks.create_task(self._cancel_begun(call, request_id, begun))
            await self._made(call, request_id, begun=begun, seconds=ENDLESS_SECONDS)
            canceller.cancel()

    async def _race(self) -> None:
        """Cancel a call at any moment of its life: it has a result, or none."""
        call, request_id = self._call("count"), self._client.next_id()
        call.says, call.cancelling = 5, True
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._cancel_at_random(request_id))
            await self._made(call, request_id, n=call.says, delay=0.04)

    async def _cancel_at_random(self, request_id: int) -> None:
        await self._stage.pause(self._random)
        await self._client.told("notifications/cancelled", {"requestId": request_id})

    async def _cancel_begun(self, call: Call, request_id: int, begun: asyncio.Event) -> None:
        await begun.wait()
        await self._stage.pause(self._random)
        while not call.cancelled:
            call.cancelling = True
            call.cancelled = await self._client.told("notifications/cancelled", {"requestId": request_id}) == 202
            await self._stage.pause(self._random)

    async def _renew(self) -> None:
        await self._client.end()

    async def _intrude(self) -> None:
        """Try to use what is another principal's."""
        others = [loot for name, loot in self._stage.loot.items() if name != self._client.principal]
        others = [loot for loot in others if loot.session]
        if not others:
            return
        loot = self._random.choice(others)
        mine = self._client.id
        outcomes = {
            "answered a question of another's": await self._client.answered(loot.question, accept("stolen")),
            "was replayed a stream of another's": await self._opened(loot.event),
        }
        self._client.id = loot.session
        outcomes["used a session of another's"] = await self._client.told("notifications/initialized")
        self._client.id = mine
        for what, status in outcomes.items():
            self._stage.ledger.intrusions.append(Intrusion(f"{self._client.principal} {what}", 200 <= status < 300))

    async def _opened(self, place: str) -> int:
        try:
            async with self._client.listening(place) as reply:
                return reply.status
        except Cut:
            return 0

    def _call(self, tool: str) -> Call:
        tag = f"{self._client.principal}/{self._name}/{next(self._serial)}"
        return Call(self._client.principal, tag, tool, self._stage.now())

    async def _made(self, call: Call, request_id: int | None = None, **how: Any) -> Following:
        request_id = self._client.next_id() if request_id is None else request_id
        following = Following(self._client, call, request_id, self._random)
        await self._stage.ended(call, following.made(**how))
        return following
