"""A modern client under chaos: it calls, answers by calling again, and cancels by hanging up."""

import itertools

from tests.chaos.answers import accept
from tests.chaos.ledger import Call, End, Given, Intrusion, Outcome, Question, Said
from tests.chaos.modern import ModernClient
from tests.chaos.stage import ENDLESS_SECONDS, Loot, Stage, response_of
from tests.chaos.wire import Json


class ModernCaller:
    """Makes one call after the other until the run is over."""

    def __init__(self, stage: Stage, name: str, principal: str) -> None:
        self._stage = stage
        self._name = name
        self._random = stage.random(name)
        self._client = ModernClient(stage, principal)
        self._serial = itertools.count(1)

    async def run(self) -> None:
        """Call until the run is over."""
        acts = [self._echo, self._count, self._ask, self._cancel, self._intrude]
        while not self._stage.over.is_set():
            [act] = self._random.choices(acts, [10, 3, 3, 1, 0.5])
            await act()
            await self._stage.pause(self._random)

    async def _echo(self) -> None:
        call = self._call("echo")
        await self._stage.ended(call, self._client.call(call))

    async def _count(self) -> None:
        call = self._call("count")
        call.says = self._random.randint(1, 25)
        await self._stage.ended(call, self._client.call(call, n=call.says, delay=self._random.choice([0.0, 0.02])))

    async def _cancel(self) -> None:
        """Hang up, which cancels: whether it did is seen at the end, when nothing may run any more."""
        call = self._call("count")
        await self._stage.ended(call, self._hung_up(call))

    async def _hung_up(self, call: Call) -> End:
        arguments = {"tag": call.tag, "n": 100_000, "delay": ENDLESS_SECONDS / 100_000}
        found = await self._client.heard(call, {"name": "count", "arguments": arguments}, hang_up=True)
        if isinstance(found, End):
            call.cancelling = True
            return found
        call.responses.append(response_of(found))
        return End.ANSWERED

    async def _ask(self) -> None:
        call = self._call("ask")
        await self._stage.ended(call, self._asked(call))

    async def _asked(self, call: Call) -> End:
        """Call, and call again with the answer, as often as that is cut off: nothing is lost by it."""
        params: Json = {"name": "ask", "arguments": {"tag": call.tag}}
        question = None
        while True:
            found = await self._client.heard(call, params)
            if question is not None and (isinstance(found, End) or is_busy(found)):
                await self._stage.pause(self._random)
            elif isinstance(found, End):
                return found
            elif found.get("result", {}).get("resultType") == "input_required":
                question = self._question(call, found["result"])
                params |= {"requestState": found["result"]["requestState"]}
                params |= {"inputResponses": {key: accept(call.tag) for key in found["result"]["inputRequests"]}}
            else:
                self._conclude(call, question, found)
                return End.ANSWERED

    def _question(self, call: Call, result: Json) -> Question:
        [asked] = result["inputRequests"].values()
        step, _, tag = asked["params"]["message"].partition(" ")
        call.said.append(Said(tag.partition("/")[0], tag, 1))
        question = Question(call, step)
        self._stage.ledger.questions.append(question)
        loot = self._stage.loot.setdefault(self._client.principal, Loot())
        loot.state, loot.tag = result["requestState"], call.tag
        return question

    def _conclude(self, call: Call, question: Question | None, found: Json) -> None:
        call.responses.append(response_of(found))
        if question is not None:
            outcome = Outcome.REFUSED if "error" in found else Outcome.ACCEPTED
            question.given.append(Given(call.tag, outcome))

    async def _intrude(self) -> None:
        """Go on with a request of another principal's."""
        for name, loot in [*self._stage.loot.items()]:
            if name == self._client.principal or not loot.state:
                continue
            params = {"name": "ask", "arguments": {"tag": loot.tag}, "requestState": loot.state}
            found = await self._client.heard(self._call("ask"), params)
            succeeded = isinstance(found, dict) and "error" not in found
            what = f"{self._client.principal} went on with a request of {name}"
            self._stage.ledger.intrusions.append(Intrusion(what, succeeded))

    def _call(self, tool: str) -> Call:
        tag = f"{self._client.principal}/{self._name}/{next(self._serial)}"
        return Call(self._client.principal, tag, tool, self._stage.now())


def is_busy(message: Json) -> bool:
    """Whether a client is told to come back."""
    reason = (message.get("error", {}).get("data") or {}).get("reason")
    return reason in ("store_unavailable", "server_stopping", "server_stopped")
