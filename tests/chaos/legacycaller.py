"""A legacy client under chaos: it calls, answers, cancels, hangs up and comes back, and begins anew when it must."""

import asyncio
import itertools
import json
from random import Random
from typing import Any, Final

from tests.chaos.ledger import Call, End, Given, Intrusion, Outcome, Question, Response, Said
from tests.chaos.legacy import FORMS_SINCE, LegacyClient
from tests.chaos.stage import Loot, Stage, ending_of, response_of
from tests.chaos.wire import Cut, Json, Reply

ENDLESS_SECONDS: Final = 600.0
ATTEMPTS: Final = 40
EMPTY_TRIES: Final = 3
"""So many streams in a row that end with nothing mean that the call has no response."""


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
        acts = [self._echo, self._twins, self._count, self._ask, self._cancel, self._intrude, self._renew]
        while await self._client.begin() or not self._stage.over.is_set():
            while not self._stage.over.is_set() and self._client.entry.gone is None:
                [act] = self._random.choices(acts, [10, 1, 3, 3, 1, 1, 0.3])
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
        await self._made(call, cut_after=cut, n=n, delay=self._random.choice([0.0, 0.02, 0.08]))

    async def _ask(self) -> None:
        await self._made(self._call("ask"))

    async def _cancel(self) -> None:
        call, request_id, begun = self._call("wait"), self._client.next_id(), asyncio.Event()
        async with asyncio.TaskGroup() as tasks:
            canceller = tasks.create_task(self._cancel_begun(call, request_id, begun))
            await self._made(call, request_id, begun=begun, seconds=ENDLESS_SECONDS)
            canceller.cancel()

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

    async def _made(self, call: Call, request_id: int | None = None, **how: Any) -> None:
        request_id = self._client.next_id() if request_id is None else request_id
        await self._stage.ended(call, Following(self._client, call, request_id, self._random).made(**how))


class Following:
    """One call, over all the connections that bring it to its end."""

    def __init__(self, client: LegacyClient, call: Call, request_id: int, random: Random) -> None:
        self._client = client
        self._stage = client.stage
        self._call = call
        self._request_id = request_id
        self._random = random
        self._place = ""
        self._empty = 0
        self._cut_after: int | None = None

    async def made(self, *, cut_after: int | None = None, begun: asyncio.Event | None = None, **arguments: Any) -> End:
        """Call the tool; hang up once after so many messages; come back until the call has ended."""
        self._cut_after = cut_after
        params = {"name": self._call.tool, "arguments": {"tag": self._call.tag, **arguments}}
        sending = self._client.posting("tools/call", params, self._request_id)
        while True:
            try:
                async with sending as reply:
                    if begun is not None and reply.is_stream:
                        begun.set()
                    end = await self._heard(reply)
            except Cut as cut:
                end = None if self._place else ending_of(cut)
            if end is not None or self._call.responses:
                return end or End.ANSWERED
            await self._stage.pause(self._random)
            self._call.resumed += 1
            sending = self._client.listening(self._place)

    async def _heard(self, reply: Reply) -> End | None:
        """Read one response; None if there is more to come on another."""
        if reply.status == 404:
            self._client.lost()
            return End.GONE
        if reply.status == 503:
            if self._place:
                return None
            self._call.responses.append(response_of(await reply.message()))
            return End.REFUSED
        if not reply.is_stream:
            return self._answered(response_of(await reply.message()))
        async for event in reply.events():
            self._place = event.id or self._place
            if event.data and await self._take(json.loads(event.data)) is End.GONE:
                return End.GONE
            if self._cut_after is not None and len(self._call.said) >= self._cut_after:
                self._cut_after = None
                raise Cut
        return None if self._call.responses else self._ended_empty()

    def _answered(self, response: Response) -> End:
        if response.failure == "session_not_found":
            self._client.lost()
            return End.GONE
        self._call.responses.append(response)
        return End.ANSWERED

    def _ended_empty(self) -> End | None:
        if self._call.cancelling:
            return End.CANCELLED
        self._empty += 1
        return None if self._place and self._empty < EMPTY_TRIES else End.EMPTY

    async def _take(self, message: Json) -> End | None:
        if "method" not in message:
            return self._answered(response_of(message))
        if message["method"] == "notifications/message":
            said = message["params"]["data"]
            self._call.said.append(Said(said["principal"], said["tag"], said["number"]))
        elif message["method"] in ("elicitation/create", "sampling/createMessage"):
            await self._answer(message)
        return None

    async def _answer(self, message: Json) -> None:
        params = message["params"]
        words: str = params["message"] if "message" in params else params["messages"][0]["content"]["text"]
        step, _, tag = words.partition(" ")
        question = Question(self._call, step)
        self._stage.ledger.questions.append(question)
        self._call.said.append(Said(tag.partition("/")[0], tag, 1))
        loot = self._stage.loot.setdefault(self._client.principal, Loot())
        loot.session, loot.event, loot.question = self._client.id, self._place, message["id"]
        values = [f"{tag} {number}" for number in range(self._random.choice([1, 1, 2]))]
        given = await asyncio.gather(*(self._give(message["id"], value) for value in values))
        question.given += given
        if self._random.random() < 0.3:
            for each in given:
                if each.outcome is Outcome.ACCEPTED:
                    question.given.append(await self._give(message["id"], each.value, again=True))

    async def _give(self, request_id: str, value: str, *, again: bool = False) -> Given:
        """Give an answer until somebody says what became of it."""
        doubtful = False
        for _ in range(ATTEMPTS):
            answer = accept(value) if self._client.date >= FORMS_SINCE else sampled(value)
            status = await self._client.answered(request_id, answer)
            if status == 202:
                return Given(value, Outcome.ACCEPTED, again)
            if status in (400, 404):
                return Given(value, Outcome.UNKNOWN if doubtful else Outcome.REFUSED, again)
            doubtful = True
            await self._stage.pause(self._random)
        return Given(value, Outcome.UNKNOWN, again)


def accept(value: str) -> Json:
    """The result of a client whose user has filled the form in."""
    return {"action": "accept", "content": {"value": value}}


def sampled(value: str) -> Json:
    """The result of a client whose model has said something."""
    return {"role": "assistant", "model": "chaos", "content": {"type": "text", "text": value}}
