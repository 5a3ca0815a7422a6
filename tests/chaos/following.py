"""One legacy call, over all the connections that bring it to its end."""

import asyncio
import json
from contextlib import AbstractAsyncContextManager
from random import Random
from typing import Any, Final

from tests.chaos.answers import accept, sampled
from tests.chaos.ledger import Call, End, Given, Outcome, Question, Response, Said
from tests.chaos.legacy import FORMS_SINCE, LegacyClient
from tests.chaos.stage import Loot, ending_of, response_of
from tests.chaos.wire import Cut, Json, Reply

ATTEMPTS: Final = 40
EMPTY_TRIES: Final = 3
"""So many streams in a row that end with nothing mean that the call has no response."""


class Following:
    """Makes the call, answers what it asks, and comes back wherever it is cut off."""

    def __init__(self, client: LegacyClient, call: Call, request_id: int, random: Random) -> None:
        self._client = client
        self._stage = client.stage
        self._call = call
        self._request_id = request_id
        self._random = random
        self.places: list[tuple[str, int]] = []
        """The id of each event that its response came after, and how many messages had come by then."""
        self._place = ""
        self._empty = 0
        self._cut_after: int | None = None

    async def made(self, *, cut_after: int | None = None, begun: asyncio.Event | None = None, **arguments: Any) -> End:
        """Call the tool; hang up once after so many messages; come back until the call has ended."""
        self._cut_after = cut_after
        params = {"name": self._call.tool, "arguments": {"tag": self._call.tag, **arguments}}
        return await self._followed(self._client.posting("tools/call", params, self._request_id), begun)

    async def replayed(self, place: str) -> End:
        """Take a stream up after this event, whether or not the call has ended since."""
        self._place = place
        return await self._followed(self._client.listening(place), None)

    async def _followed(self, sending: AbstractAsyncContextManager[Reply], begun: asyncio.Event | None) -> End:
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
            if event.id and not self._call.responses:
                self.places.append((event.id, len(self._call.said)))
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
        if self._place:
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
            if status == 400:
                return Given(value, Outcome.UNKNOWN if doubtful else Outcome.REFUSED, again)
            if status == 404:  # which is judged once, for the session
                break
            doubtful = True
            await self._stage.pause(self._random)
        return Given(value, Outcome.UNKNOWN, again)
