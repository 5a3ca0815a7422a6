"""What may happen to a task at any moment: between any two steps of whoever makes it, runs it, or ends it."""

import asyncio
import re
from collections.abc import Awaitable
from itertools import combinations
from typing import Any

import pytest

from mcpfleet import Context
from mcpfleet.backplane.faults import Doubtful, Fate, Rollback, Stepped, interleavings, shuffles
from mcpfleet.backplane.intercepted import Intercepted
from mcpfleet.backplane.memory import MemoryBackplane, MemoryStore
from mcpfleet.backplane.storecontrol import MemoryControl
from mcpfleet.errors import BackplaneError, Unavailable
from mcpfleet.protocol.jsontext import loads
from mcpfleet.server.tasks import store
from mcpfleet.server.tasks.letters import DeadLetters
from mcpfleet.server.tasks.record import Record
from mcpfleet.server.tasks.store import Found, Step, Tasks, UnknownTask
from mcpfleet.server.tasks.verdict import EXPIRED
from tests.backplane.conftest import Pair
from tests.server.tasks.diggers import FORM
from tests.server.tasks.hands import LEASE, Hand, Mortal, answering, call, deaths, finished, made_names, maker
from tests.server.tasks.workshop import Workshop

TTL = 600.0


class Durable(Intercepted):
    """A store that is to be waited for."""

    durable = True


class NoPause:
    """Tries again at once, so that nothing depends on time."""

    def __init__(self, **_: float) -> None:
        pass

    def pause(self) -> float:
        return 0.0


def digging() -> Workshop:
    """A job that does a step, says how far it is, asks, and does another step."""
    shop = Workshop()

    @shop.job
    async def dig(ctx: Context) -> str:
        first = await ctx.step("first", lambda: shop.done("first", shop.steps["first"]))
        await ctx.report_progress(1, message="first")
        name = (await ctx.elicit("Who?", FORM)).content
        second = await ctx.step("second", lambda: shop.done("second", shop.steps["second"]))
        return f"{first} {name} {second}"

    return shop


async def outcome(life: Awaitable[None]) -> None:
    """Let a process go on to its end, or death."""
    async with asyncio.timeout(10):
        [ended] = await asyncio.gather(life, return_exceptions=True)
    assert ended is None or isinstance(ended, BackplaneError) or "Died" in repr(ended), ended


async def record(pair: Pair, found: Found) -> Record:
    return (await maker(pair.there).find(found.names.id)).record


@pytest.mark.parametrize("tool", ["safe", "unsafe"])
async def test_a_process_may_die_between_any_two_steps_of_a_run(pair: Pair, tool: str) -> None:
    tried = 0
    for way in deaths():
        shop = digging()
        server = shop.server()
        found = await maker(pair.there).create(call(tool), ttl=TTL)
        doomed = Hand(Intercepted(pair.here, way), server)
        async with answering(pair, server, found):
            await outcome(doomed.takes())
            status = await finished(pair, server, found)
        ended = await record(pair, found)
        if tool == "safe":
            assert status == "completed", way
            assert ended.result is not None
            assert max(shop.steps.values()) <= 2, way
            assert "{'name': 'Ada'}" in loads(ended.result)["content"][0]["text"]
        else:
            assert status == "completed" or b"outcome_unknown" in (ended.error or b""), way
            assert shop.runs["dig"] <= 1, way
            assert max(shop.steps.values(), default=0) <= 1, way
        tried += 1
        if not way.dead:
            break
    assert tried > 30
    assert shop.runs["dig"] == 1, "nobody died, and it ran once"


@pytest.mark.parametrize("kind", [Intercepted, Durable])
async def test_a_process_may_die_between_any_two_steps_of_making_a_task(pair: Pair, kind: type[Intercepted]) -> None:
    """A task that its client may have heard of runs; any other one runs, or ends when its time is up."""
    for way in deaths():
        shop = digging()
        server = shop.server()
        made: list[Found] = []

        async def make(way: Mortal = way, made: list[Found] = made) -> None:
            made.append(await maker(kind(pair.here, way)).create(call("safe"), ttl=TTL))

        await outcome(make())
        [task_id] = re.findall(r"t0-[0-9a-f]{32}(?=.record)", " ".join(await pair.store.names())) or [""]
        if made:
            async with answering(pair, server, made[0]):
                assert await finished(pair, server, made[0]) == "completed"
        elif task_id:
            hand = Hand(pair.there, server)
            await pair.store.age(TTL + 1)
            await hand.reaper.round()
            ended = (await hand.tasks.find(task_id)).record
            assert ended.status == "failed", way
        if task_id:
            await pair.there.delete(made_names(task_id).record)
        if not way.dead:
            break
    assert made


@pytest.mark.parametrize("tool", ["safe", "unsafe"])
async def test_a_process_may_die_between_any_two_steps_of_giving_a_task_back(pair: Pair, tool: str) -> None:
    tried = 0
    for way in deaths():
        shop = Workshop()
        server = shop.server()
        found = await maker(pair.there).create(call(tool), ttl=TTL)
        doomed = Hand(Intercepted(pair.here, way), server)
        taking = asyncio.ensure_future(doomed.takes())
        begins = asyncio.ensure_future(shop.reached("dig"))
        await asyncio.wait([taking, begins], return_when=asyncio.FIRST_COMPLETED)
        doomed.runner.stop()
        await outcome(taking)
        begins.cancel()
        shop.open("dig")
        status = await finished(pair, server, found)
        ended = await record(pair, found)
        if tool == "safe":
            assert status == "completed", way
        else:
            assert status == "completed" or b"unknown" in (ended.error or b""), way
            assert shop.runs["dig"] <= 1, way
        tried += 1
        if not way.dead:
            break
    assert tried > 10
    if tool == "safe":
        assert (ended.attempt, shop.runs["dig"]) == (1, 2), "given back in good order, it is not counted"
    else:
        assert b"server_stopped" in (ended.error or b"")


@pytest.mark.parametrize("tool", ["safe", "unsafe"])
async def test_a_process_may_die_between_any_two_steps_of_taking_a_task_from_a_dead_one(pair: Pair, tool: str) -> None:
    tried = 0
    for way in deaths():
        shop = Workshop()
        server = shop.server()
        found = await maker(pair.there).create(call(tool), ttl=TTL)
        claimed = found.record.claimed("dead", found.record.created)
        assert await maker(pair.there).replace(found, Step(claimed))
        shop.open("dig")
        doomed = Hand(Intercepted(pair.here, way), server)
        await outcome(doomed.settles_in())
        await outcome(doomed.takes())
        status = await finished(pair, server, found)
        letters = [each.task_id for each in await DeadLetters(pair.there).all()]
        if tool == "safe":
            assert (status, (await record(pair, found)).attempt) == ("completed", 2), way
            assert found.names.id not in letters
        else:
            assert status == "failed", way
            assert letters.count(found.names.id) == 1, way
            assert shop.runs["dig"] == 0
        tried += 1
        if not way.dead:
            break
    assert tried > 10


@pytest.mark.parametrize("fate", [Fate.UNANSWERED, Fate.LOST, Fate.UNSENT, Fate.LATE])
@pytest.mark.parametrize("tool", ["safe", "unsafe"])
async def test_any_reply_of_a_run_may_be_lost(pair: Pair, tool: str, fate: Fate) -> None:
    number, clean = 0, 0
    while clean < 2:  # twice nothing was left that could go wrong
        shop = digging()
        server = shop.server()
        found = await maker(pair.there).create(call(tool), ttl=TTL)
        fates = iter([*[Fate.DONE] * number, fate])
        doubtful = Doubtful(fates)
        hand = Hand(doubtful.view(pair.here), server)
        async with answering(pair, server, found):
            await outcome(hand.takes())
            await doubtful.deliver()
            status = await finished(pair, server, found)
        ended = await record(pair, found)
        why = f"{fate} of verb {number}"
        if tool == "safe":
            assert status == "completed", why
        else:
            assert status == "completed" or b"outcome_unknown" in (ended.error or b""), why
            assert shop.runs["dig"] <= 1, why
        clean = clean + 1 if fate in fates else 0
        number += 1
    assert number > 15


def ending(name: str) -> Any:
    """A change that a task may see, by its name."""

    def make(tasks: Tasks, found: Found) -> Any:
        names = found.names

        def step(record: Record) -> Step | None:
            if record.terminal:
                return None
            match name:
                case "cancel":
                    return tasks.ended(names, record.cancelled(1.0))
                case "complete":
                    owned = record.runner == "runner"
                    return tasks.ended(names, record.completed({"by": name}, 1.0)) if owned else None
                case "expire":
                    return tasks.ended(names, record.failed(EXPIRED, 1.0))
                case "release":
                    owned = record.runner == "runner"
                    return tasks.given_back(names, record.released(1.0, counted=True)) if owned else None
                case _:
                    answered = record.answered({"q": {}}, 1.0)
                    return None if answered is record else Step(answered)

        return tasks.change(names, step)

    return make


CHANGES = ("cancel", "complete", "expire", "update", "release")


async def race(pair: Pair, steps: Stepped, changes: tuple[str, ...]) -> None:
    """Let these changes happen at once, and judge what is left."""
    plain = maker(pair.there)
    found = await plain.create(call("safe"), ttl=TTL)
    running = found.record.claimed("runner", 1.0).asking("q", {"method": "x"}, 1.0)
    await plain.replace(found, Step(running))
    views = [steps.view(pair.here if number % 2 else pair.there) for number in range(len(changes))]
    results = await steps.run(*(ending(name)(maker(view), found) for name, view in zip(changes, views, strict=True)))
    after = await record(pair, found)
    assert not [each for each in results if isinstance(each, BaseException)], steps
    ended = [each for each in results if each.terminal]
    terminal = [each for each in changes if each in ("cancel", "complete", "expire")]
    if terminal and not (terminal == ["complete"] and "release" in changes):
        assert after.terminal, steps
    assert all(each == after for each in ended), f"one has seen another end: {steps}"
    if after.terminal:
        assert (after.runner, after.questions, after.answers) == ("", {}, b"{}")


@pytest.mark.parametrize("changes", [*combinations(CHANGES, 2)], ids=" and ".join)
async def test_of_two_that_change_a_task_at_once_one_ends_it(
    memory_pair: Pair, changes: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """In every order."""
    monkeypatch.setattr(store, "Backoff", NoPause)
    orders = 0
    for steps in interleavings():
        await race(memory_pair, steps, changes)
        orders += 1
    assert orders > 10


async def test_of_all_that_change_a_task_at_once_one_ends_it(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "Backoff", NoPause)
    for steps in shuffles(1, 20):
        await race(pair, steps, CHANGES)


async def test_a_task_that_is_answered_as_its_dead_process_is_found_goes_on_once(memory_pair: Pair) -> None:
    """Between any two steps of whoever takes it from the dead, in many orders."""
    for steps in shuffles(2, 60):
        shop = digging()
        server = shop.server()
        found = await maker(memory_pair.there).create(call("safe"), ttl=TTL)
        parked = found.record.claimed("dead", found.record.created).asking("q", {"method": "x"}, found.record.created)
        await maker(memory_pair.there).replace(found, Step(parked))
        taker = Hand(steps.view(memory_pair.here), server)
        client = Hand(steps.view(memory_pair.there), server)

        async def answers(client: Hand = client, found: Found = found) -> None:
            def change(record: Record) -> Step | None:
                answered = record.answered({"q": {}}, record.updated)
                if answered is record:
                    return None
                return Step(answered) if answered.runner else client.tasks.queued(found.names, answered)

            await client.tasks.change(found.names, change)

        async def looks(taker: Hand = taker) -> None:
            await taker.settles_in()
            await taker.takes()

        await steps.run(looks(), answers())
        async with answering(memory_pair, server, found):
            assert await finished(memory_pair, server, found) == "completed", steps
        assert shop.runs["dig"] == 1, steps


async def test_a_tool_that_may_not_run_twice_begins_only_once_that_is_durable(pair: Pair) -> None:
    shop = Workshop()
    shop.open("dig")
    server = shop.server()
    settled = False

    class Settling(Durable):
        async def settle(self, scope: str) -> None:
            if not settled:
                raise Unavailable("the replica is frozen")

    found = await maker(pair.there).create(call("unsafe"), ttl=TTL)
    hand = Hand(Settling(pair.here, Mortal(-1, "after")), server)
    await hand.takes()
    stored = await record(pair, found)
    assert (stored.attempt, stored.runner, shop.runs["dig"]) == (0, "", 0)
    settled = True
    await pair.store.age(LEASE)
    await hand.takes()
    assert (await record(pair, found)).status == "completed"
    assert shop.runs["dig"] == 1


async def test_a_tool_that_may_run_twice_does_not_wait_for_that(pair: Pair) -> None:
    shop = Workshop()
    shop.open("dig")

    class Refusing(Durable):
        async def settle(self, scope: str) -> None:
            raise Unavailable("the replica is frozen")

    found = await maker(pair.there).create(call("safe"), ttl=TTL)
    await Hand(Refusing(pair.here, Mortal(-1, "after")), shop.server()).takes()
    assert (await record(pair, found)).status == "completed"


async def test_a_task_that_a_failover_forgot_is_unknown_and_its_run_stops(pair: Pair) -> None:
    shop = Workshop()
    server = shop.server()
    rollback = Rollback(pair.store)
    found = await maker(rollback.view(pair.there)).create(call("unsafe"), ttl=TTL)
    hand = Hand(pair.here, server)
    taking = asyncio.ensure_future(hand.takes())
    await shop.reached("dig")
    await rollback.back(0)
    shop.open("dig")
    async with asyncio.timeout(10):
        await taking
    with pytest.raises(UnknownTask):
        await hand.tasks.find(found.names.id)
    assert [name for name in await pair.store.names() if "tasks.0/" in name] == []


async def test_a_run_whose_claim_a_failover_forgot_writes_nothing_over_the_next_one(pair: Pair) -> None:
    shop = Workshop()
    server = shop.server()
    found = await maker(pair.there).create(call("safe"), ttl=TTL)
    state = await pair.store.save()
    first = asyncio.ensure_future(Hand(pair.here, server).takes())
    await shop.reached("dig")
    await pair.store.restore(state)
    await pair.store.age(LEASE)
    second = asyncio.ensure_future(Hand(pair.there, server).takes())
    await shop.reached("dig")
    shop.open("dig")
    await asyncio.wait([first, second], timeout=10)
    ended = await record(pair, found)
    assert (ended.status, ended.attempt) == ("completed", 1)
    assert shop.runs["dig"] == 2, "two runs of a tool that may run twice may overlap"


@pytest.fixture
async def memory_pair() -> Pair:
    """Two views of one store in memory, for what is tried in very many orders."""
    kept = MemoryStore()
    return Pair(MemoryBackplane(kept), MemoryBackplane(kept), MemoryControl(kept))


@pytest.mark.parametrize("meanwhile", ["cancelled", "taken", "gone"])
async def test_a_task_that_changes_as_it_is_taken_is_not_begun(pair: Pair, meanwhile: str) -> None:
    shop = Workshop()
    server = shop.server()
    found = await maker(pair.there).create(call("safe"), ttl=TTL)

    class Late(Mortal):
        """Its first change comes too late."""

        async def verb(self, verb: Any, name: str, act: Any, /) -> Any:
            if verb == "commit" and not self.told:
                self.told.append(name)
                if meanwhile == "gone":
                    await pair.there.delete(found.names.record)
                else:
                    ended = maker(pair.there).ended(found.names, found.record.cancelled(1.0))
                    claimed = Step(found.record.claimed("another", found.record.created))
                    await maker(pair.there).replace(found, ended if meanwhile == "cancelled" else claimed)
            return await act()

    hand = Hand(Intercepted(pair.here, Late(-1, "after")), server)
    async with asyncio.timeout(10):
        await hand.takes()
    assert shop.runs.total() == 0
    assert hand.runner.running == 0
    assert await pair.there.get(found.names.lease) is None


@pytest.mark.parametrize("state", ["ended", "parked", "gone"])
async def test_what_is_on_a_queue_and_not_to_be_run_is_taken_off(pair: Pair, state: str) -> None:
    shop = Workshop()
    found = await maker(pair.there).create(call("safe"), ttl=TTL)
    if state == "gone":
        await pair.there.delete(found.names.record)
    else:
        parked = found.record.asking("q", {"method": "x"}, found.record.created)
        after = parked if state == "parked" else found.record.cancelled(found.record.created)
        await maker(pair.there).replace(found, Step(after))
    await Hand(pair.here, shop.server()).takes()
    assert shop.runs.total() == 0
    assert (await pair.there.take(found.names.queue("default"), hold=1.0, limit=1)).wait is None


async def test_whoever_runs_a_task_ends_it_when_its_time_is_up(memory_pair: Pair) -> None:
    """Although nobody else does."""
    shop = Workshop()
    found = await maker(memory_pair.there).create(call("unsafe"), ttl=0.2)
    async with asyncio.timeout(10):
        await Hand(memory_pair.here, shop.server()).takes()
    ended = await record(memory_pair, found)
    assert (ended.status, ended.message) == ("failed", EXPIRED.message)
    assert shop.runs["dig"] == 1
