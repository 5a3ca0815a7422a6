"""A client that has a call made into a task, and sees to it, over any process, until it knows its end."""

import asyncio
import json
from random import Random
from typing import Any, Final

from mcpfleet.protocol.jsonrpc import INVALID_PARAMS
from mcpfleet.protocol.tasks import EXTENSION
from tests.chaos.answers import accept
from tests.chaos.ledger import Intrusion
from tests.chaos.modern import ModernClient
from tests.chaos.moderncaller import is_busy
from tests.chaos.principals import PRINCIPALS
from tests.chaos.stage import Stage
from tests.chaos.tasks.errand import Errand, Fate, Sight, Wish
from tests.chaos.wire import Cut, Json

TOLD: Final = "notifications/tasks"
LOOKS: Final = (0.5, 1.5)
"""How long a client waits before it looks again, in seconds."""
INTRUDED: Final = 8
"""Of so many tasks, somebody else asks for one."""
DAWDLING: Final = (0.0, 3.0)
"""How long until it cancels."""


class Customer:
    """Whoever has one wish."""

    def __init__(self, stage: Stage, wish: Wish) -> None:
        self._stage = stage
        self._wish = wish
        self._random = stage.random(f"customer-{wish.number}")
        self._client = ModernClient(stage, PRINCIPALS[wish.number % len(PRINCIPALS)], extensions=EXTENSION)
        self._dawdle = self._random.uniform(*DAWDLING)

    async def run(self) -> None:
        """Have it done; each attempt at that is an errand of its own."""
        errand = await self._begun()
        try:
            async with asyncio.timeout(self._stage.times.deadline), asyncio.TaskGroup() as tasks:
                following = tasks.create_task(self._follow(errand)) if errand.follows else None
                last = await self._seen_to(errand)
                if last.task is None and following is not None:
                    following.cancel()
        except TimeoutError:
            errand.overdue = True
        errand.ended = self._stage.now()
        if self._wish.number % INTRUDED == 0:
            await self._intruded(errand)
        await asyncio.sleep(self._random.uniform(0, 3))
        await look(self._stage, errand, self._random)

    async def _begun(self) -> Errand:
        """Call until it is a task: a call that broke off, or was refused, may never become one."""
        attempt = 0
        while True:
            attempt += 1
            tag = f"{self._client.principal}/{self._wish.number}/{attempt}"
            errand = Errand(self._client.principal, tag, self._wish.kind, self._stage.now(), follows=self._wish.follows)
            self._stage.ledger.errands.append(errand)
            arguments = {"tag": tag, "seconds": self._wish.seconds}
            params = {"name": self._wish.kind.tool, "arguments": arguments}
            answer = await asked(self._client, "tools/call", params, errand)
            if answer is not None:
                errand.task_id = answer["result"]["taskId"]
                return errand
            await self._stage.pause(self._random)

    async def _seen_to(self, errand: Errand) -> Sight:
        """Ask how it is, and do what it needs, until it has ended, or is unknown."""
        while not (sight := await look(self._stage, errand, self._random)).terminal and sight.task is not None:
            waited = self._stage.now() - errand.began
            if errand.kind.fate is Fate.CANCEL and waited >= self._dawdle and errand.cancelled is None:
                if await self._acknowledged(errand, "tasks/cancel"):
                    errand.cancelled = self._stage.now()
            elif sight.status == "input_required" and errand.kind.fate is Fate.AWAIT:
                await self._answer(errand, sight.task["inputRequests"])
            else:
                await asyncio.sleep(self._random.uniform(*LOOKS))
        return sight

    async def _answer(self, errand: Errand, questions: dict[str, Json]) -> None:
        """Answer one of the questions, or all."""
        chosen = [*questions][: self._random.randint(1, len(questions))]
        answers = {key: accept(right_answer(questions[key]["params"]["message"])) for key in chosen}
        if await self._acknowledged(errand, "tasks/update", inputResponses=answers):
            errand.answered |= dict.fromkeys(chosen, self._stage.now())

    async def _acknowledged(self, errand: Errand, method: str, **params: Any) -> bool:
        """Send it until it is answered: a second time changes nothing. False: there is no such task."""
        while (answer := await asked(self._client, method, {"taskId": errand.task_id, **params}, errand)) is None:
            await self._stage.pause(self._random)
        return "result" in answer

    async def _follow(self, errand: Errand) -> None:
        """Listen until the end is told."""
        params = {"notifications": {"taskIds": [errand.task_id]}}
        while True:
            began = self._stage.now()
            try:
                async with self._client.posting("subscriptions/listen", params, "follow") as reply:
                    async for event in reply.events():
                        message = json.loads(event.data or b"{}")
                        if message.get("method") == TOLD:
                            sight = Sight(began, self._stage.now(), bare(message["params"]))
                            errand.heard.append(sight)
                            if sight.terminal:
                                return
            except Cut:
                pass
            await self._stage.pause(self._random)

    async def _intruded(self, errand: Errand) -> None:
        """Ask as somebody else: there is no such task."""
        other = PRINCIPALS[(PRINCIPALS.index(errand.principal) + 1) % len(PRINCIPALS)]
        client = ModernClient(self._stage, other, extensions=EXTENSION)
        method = self._random.choice(["tasks/get", "tasks/cancel"])
        answer = await asked(client, method, {"taskId": errand.task_id}, errand)
        if answer is not None:
            what = f"the task of {errand.tag} by {method} of {other}"
            self._stage.ledger.intrusions.append(Intrusion(what, "result" in answer))


async def look(stage: Stage, errand: Errand, random: Random) -> Sight:
    """Ask how a task is until that is told, and enter it."""
    client = ModernClient(stage, errand.principal, extensions=EXTENSION)
    while True:
        began = stage.now()
        answer = await asked(client, "tasks/get", {"taskId": errand.task_id}, errand)
        if answer is not None:
            break
        await stage.pause(random)
    sight = Sight(began, stage.now(), bare(answer["result"]) if "result" in answer else None)
    assert sight.task is not None or answer["error"]["code"] == INVALID_PARAMS, answer
    errand.got.append(sight)
    for key, question in (sight.task or {}).get("inputRequests", {}).items():
        errand.asked.setdefault(key, set()).add(question["params"]["message"])
    return sight


async def looked_again(stage: Stage) -> None:
    """Ask once more for every task, one after the other, now that nothing breaks any more."""
    random = stage.random("the end")
    for errand in stage.ledger.errands:
        if errand.task_id:
            await look(stage, errand, random)


async def asked(client: ModernClient, method: str, params: Json, errand: Errand) -> Json | None:
    """The answer to one request; None if the client was told to come back, or the connection broke."""
    try:
        async with client.posting(method, params, errand.tag) as reply:
            answer = await reply.answer()
    except Cut:
        return None
    if is_busy(answer):
        errand.refused.append(client.stage.now())
        return None
    return answer


def right_answer(question: str) -> str:
    """What every client says to a question."""
    return f"re {question}"


def bare(task: Json) -> Json:
    """A task without what only one of the ways to be told of it says."""
    return {name: value for name, value in task.items() if name not in ("resultType", "_meta")}
