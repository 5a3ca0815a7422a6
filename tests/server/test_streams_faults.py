"""Call streams in every order, with a runner that dies or sleeps anywhere, and a store that forgets."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from random import Random
from typing import TypeVar

import pytest

from mcpfleet.backplane.faults import Rollback, Stepped, interleavings
from mcpfleet.backplane.intercepted import Verb
from mcpfleet.backplane.memory import MemoryBackplane, MemoryStore
from mcpfleet.backplane.replies import Verdict, answer, ask
from mcpfleet.backplane.storecontrol import MemoryControl, StoreControl
from mcpfleet.server.streams import CallEnded
from tests.backplane.conftest import Pair
from tests.server.runners import LEASE, Impatient, Reader, Runner

SOON = 20.0
MESSAGES = [b"one", b"two"]
WHOLE = [*MESSAGES, b"result"]
WRITES = ["put record", "put lease", "open log", "append one", "append two", "append result", "delete lease"]
"""What the runner of a call with two messages writes, in this order."""

_Result = TypeVar("_Result")


async def race(pair: Pair, steps: Stepped, messages: list[bytes], enders: int) -> bytes | None:
    """A runner that outsleeps its lease, against so many who follow its call: the body of the only end."""
    runner = Runner(steps.view(pair.here))
    readers = [Reader(Impatient(steps.view(pair.there))).in_contact() for _ in range(enders)]
    accepted, *given = await steps.run(
        runner.run(messages, lambda: pair.there.delete(runner.exchange.alive)),
        *(reader.read(runner) for reader in readers),
    )
    kept = await Reader(pair.there).read(runner)
    assert len(await pair.there.read(runner.exchange.log, after=await runner.start)) == len(kept), steps
    assert given == [kept] * enders, steps
    assert kept == ([*messages, b"result"] if accepted is True else [*messages[: len(kept) - 1], b"unknown"]), steps
    return kept[-1]


def bursts(seed: int, times: int) -> Iterator[Stepped]:
    """So many orders in which one process often takes many steps while the others sleep."""
    for number in range(times):
        random = Random(f"{seed}/{number}")
        haste = random.random()
        yield Stepped(partial(_burst, random, haste))


def _burst(random: Random, haste: float, choices: int) -> int:
    return choices - 1 if random.random() < haste else random.randrange(choices)  # who stepped last is last in line


async def test_a_result_and_one_who_ends_the_call_have_one_end_in_every_order() -> None:
    store = MemoryStore()
    pair = Pair(MemoryBackplane(store), MemoryBackplane(store), MemoryControl(store))
    ends = {await race(pair, steps, [], 1) for steps in interleavings()}
    assert ends == {b"result", b"unknown"}


async def test_messages_a_result_and_two_who_end_the_call_have_one_end_in_many_orders(pair: Pair) -> None:
    ends = {await race(pair, steps, MESSAGES, 2) for steps in bursts(18, 200)}
    assert ends == {b"result", b"unknown"}


async def test_a_runner_may_die_after_any_step_and_its_call_still_ends(pair: Pair) -> None:
    ends = []
    for steps in interleavings():
        runner = Runner(steps.view(pair.here, mortal=True))
        await steps.run(runner.run(MESSAGES))
        if runner.start.done():
            await pair.store.age(2 * LEASE)
            async with asyncio.timeout(SOON):
                ends.append(await Reader(pair.there).in_contact().read(runner))
    unknown = [[*MESSAGES[:n], b"unknown"] for n in (1, 2)]
    assert {tuple(end) for end in ends} == {tuple(end) for end in [*unknown, WHOLE]}


class FailingOver(Rollback[object]):
    """After the write number `after` it returns the store, once, to what it was before the write number `to`."""

    def __init__(self, store: StoreControl[object], *, after: int, to: int) -> None:
        super().__init__(store)
        self.done = asyncio.Event()
        self._after = after
        self._to = to

    async def verb(self, verb: Verb, name: str, act: Callable[[], Awaitable[_Result]], /) -> _Result:
        result = await super().verb(verb, name, act)
        if len(self.moments) == self._after + 1 and not self.done.is_set():
            self.done.set()
            await self.back(self._to)
        return result


FAILOVERS = [(after, to) for after in range(len(WRITES)) for to in range(after + 1)]


@pytest.mark.parametrize(
    ("after", "to"), FAILOVERS, ids=[f"{WRITES[a]}, back before {WRITES[b]}" for a, b in FAILOVERS]
)
async def test_a_store_may_forget_any_last_writes_and_every_reader_still_ends(pair: Pair, after: int, to: int) -> None:
    failover = FailingOver(pair.store, after=after, to=to)
    runner = Runner(failover.view(pair.here))
    live, later = (Reader(pair.there).in_contact() for _ in range(2))
    async with asyncio.timeout(SOON), asyncio.TaskGroup() as tasks:
        reading = tasks.create_task(live.read(runner))
        accepted = await runner.run(MESSAGES)
        assert failover.done.is_set()
        await pair.store.age(2 * LEASE)
        given = await later.read(runner)
    assert reading.result() in histories(ended=not live.gap)
    assert given in histories(ended=not later.gap)
    if to > WRITES.index("append result"):
        assert accepted
        assert given == WHOLE


def histories(*, ended: bool) -> list[list[bytes]]:
    """What a reader may be given: each message once and in order, with nothing left out, and then an end or a gap."""
    cut = [WHOLE[:n] for n in range(len(WHOLE))]
    return [*([*part, b"unknown"] for part in cut), WHOLE] if ended else cut


async def test_an_answer_that_was_accepted_for_a_sleeping_asker_goes_with_the_end_of_its_call(pair: Pair) -> None:
    runner = Runner(pair.here)
    question = runner.exchange.question("1")
    async with asyncio.TaskGroup() as tasks:
        stream = await runner.open(tasks)
        await ask(pair.here, question, ttl=60)
        reader = Reader(pair.there).in_contact()
        verdict = await answer(pair.there, reader.keeper, question, runner.exchange.alive, b"yes")
        assert verdict is Verdict.ACCEPTED
        await pair.store.age(2 * LEASE)
        runner.start.set_result(stream.start)
        assert await reader.read(runner) == [b"unknown"]
        with pytest.raises(CallEnded):
            await stream.end(b"the result of the answer")
