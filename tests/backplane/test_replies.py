import asyncio
import itertools
from contextlib import suppress

import pytest

from mcpfleet.backplane import replies
from mcpfleet.backplane.base import Position
from mcpfleet.backplane.faults import Doubtful, Fate, Rollback, Stepped, interleavings, shuffles
from mcpfleet.backplane.leases import Keeper
from mcpfleet.backplane.replies import Verdict, answer, ask, await_answer
from mcpfleet.errors import LogGap, Unavailable
from tests.backplane.conftest import Pair
from tests.clock import Clock

QUESTION = "session/x/1/q/1"
ASKER = "session/x/1/alive"
LONG = 60.0


class Conversation:
    """The process that asks and the one that receives the answer."""

    def __init__(self, pair: Pair) -> None:
        self.clock = Clock()
        self.store = pair.store
        self.asking, self.answering = pair.here, pair.there
        self.asker, self.answerer = (Keeper(one, clock=self.clock) for one in (self.asking, self.answering))

    async def ask(self) -> Position:
        """Ask, as a call that runs."""
        await self.asker.hold(ASKER)
        return await ask(self.asking, QUESTION, ttl=600)

    async def answer(self, data: bytes) -> Verdict:
        """Answer on the other process."""
        return await answer(self.answering, self.answerer, QUESTION, ASKER, data)

    async def wait(self, start: Position, deadline: float = LONG) -> bytes:
        """Wait for the answer on the first process."""
        return await await_answer(self.asking, QUESTION, start, deadline=deadline)

    async def let_the_asker_die(self) -> None:
        """Let time pass in which the asker's process is not heard of."""
        for _ in range(5):
            await self.answerer.round()
            self.clock.pass_by(2.5)
            await self.store.age(2.5)
        await self.answerer.round()


@pytest.fixture
async def conversation(pair: Pair) -> Conversation:
    return Conversation(pair)


async def test_an_answer_given_on_another_process_reaches_its_asker(conversation: Conversation) -> None:
    start = await conversation.ask()
    async with asyncio.TaskGroup() as tasks:
        waiting = tasks.create_task(conversation.wait(start))
        assert await conversation.answer(b"yes") is Verdict.ACCEPTED
    assert waiting.result() == b"yes"


async def test_an_answer_may_come_before_anybody_waits(conversation: Conversation) -> None:
    start = await conversation.ask()
    assert await conversation.answer(b"yes") is Verdict.ACCEPTED
    assert await conversation.wait(start) == b"yes"


async def test_nobody_asked(conversation: Conversation) -> None:
    assert await conversation.answer(b"yes") is Verdict.REFUSED
    assert await conversation.store.names() == []


async def test_the_same_answer_again_is_known_and_another_is_refused(conversation: Conversation) -> None:
    start = await conversation.ask()
    assert await conversation.answer(b"yes") is Verdict.ACCEPTED
    assert await conversation.answer(b"yes") is Verdict.REPEATED
    assert await conversation.answer(b"no") is Verdict.REFUSED
    assert await conversation.wait(start) == b"yes"
    assert await conversation.answer(b"yes") is Verdict.REPEATED


async def test_thirty_copies_of_one_answer_at_once_all_succeed(conversation: Conversation) -> None:
    start = await conversation.ask()
    verdicts = await asyncio.gather(*(conversation.answer(b"yes") for _ in range(30)))
    assert Verdict.REFUSED not in verdicts
    assert await conversation.wait(start) == b"yes"


async def test_of_many_different_answers_exactly_one_is_accepted_and_that_one_is_delivered(
    conversation: Conversation,
) -> None:
    start = await conversation.ask()
    answers = [b"%d" % n for n in range(30)]
    verdicts = await asyncio.gather(*(conversation.answer(each) for each in answers))
    accepted = [each for each, verdict in zip(answers, verdicts, strict=True) if verdict is Verdict.ACCEPTED]
    assert accepted == [await conversation.wait(start)]


async def test_an_asker_without_an_answer_gives_up_and_every_later_answer_is_refused(
    conversation: Conversation,
) -> None:
    start = await conversation.ask()
    with pytest.raises(TimeoutError):
        await conversation.wait(start, deadline=0.01)
    assert await conversation.answer(b"late") is Verdict.REFUSED
    assert await conversation.answer(b"late") is Verdict.REFUSED


async def test_an_answer_that_came_before_the_deadline_was_noticed_is_used(conversation: Conversation) -> None:
    start = await conversation.ask()
    await conversation.answer(b"just in time")
    assert await conversation.wait(start, deadline=0) == b"just in time"


async def test_a_cancelled_asker_refuses_what_comes_later(conversation: Conversation) -> None:
    start = await conversation.ask()
    waiting = asyncio.ensure_future(conversation.wait(start))
    await asyncio.sleep(0)
    waiting.cancel()
    await asyncio.wait([waiting])
    assert waiting.cancelled()
    assert await conversation.answer(b"late") is Verdict.REFUSED


async def test_a_question_that_was_given_up_stays_given_up_for_whoever_waits_again(conversation: Conversation) -> None:
    start = await conversation.ask()
    with pytest.raises(TimeoutError):
        await conversation.wait(start, deadline=0)
    with pytest.raises(TimeoutError):
        await conversation.wait(start)


async def test_answers_to_a_dead_asker_are_refused(conversation: Conversation) -> None:
    await conversation.ask()
    await conversation.let_the_asker_die()
    assert await conversation.answer(b"yes") is Verdict.REFUSED


async def test_an_answer_accepted_before_its_asker_died_is_still_known(conversation: Conversation) -> None:
    await conversation.ask()
    await conversation.answer(b"yes")
    await conversation.let_the_asker_die()
    assert await conversation.answer(b"yes") is Verdict.REPEATED


async def test_a_lost_question_is_an_error_at_once(conversation: Conversation) -> None:
    start = await conversation.ask()
    async with asyncio.TaskGroup() as tasks:
        waiting = tasks.create_task(_gap(conversation, start))
        await conversation.answering.delete(QUESTION)
    assert waiting.result()


async def _gap(conversation: Conversation, start: Position) -> bool:
    with pytest.raises(LogGap):
        await conversation.wait(start)
    return True


@pytest.mark.parametrize("turns", range(12))
async def test_an_answer_post_cancelled_midway_can_be_given_again(conversation: Conversation, turns: int) -> None:
    start = await conversation.ask()
    first = asyncio.ensure_future(conversation.answer(b"yes"))
    for _ in range(turns):
        await asyncio.sleep(0)
    first.cancel()
    await asyncio.wait([first])
    assert await conversation.answer(b"yes") in {Verdict.ACCEPTED, Verdict.REPEATED}
    assert await conversation.wait(start) == b"yes"


ANSWERING = ["open", "get", "append"]
"""The commands of `answer`."""


@pytest.mark.parametrize("fate", [Fate.LOST, Fate.UNANSWERED, Fate.LATE])
async def test_an_answer_in_doubt_is_given_again_and_delivered_once(pair: Pair, fate: Fate) -> None:
    start = await ask(pair.here, QUESTION, ttl=600)
    doubtful = Doubtful([Fate.DONE, Fate.DONE, fate])
    view = doubtful.view(pair.there)
    assert await answer(view, Keeper(view), QUESTION, ASKER, b"yes") is Verdict.ACCEPTED
    await doubtful.deliver()
    assert len(await pair.here.read(QUESTION, after=start)) == 1
    assert await await_answer(pair.here, QUESTION, start, deadline=LONG) == b"yes"


@pytest.mark.parametrize("fate", [Fate.LOST, Fate.UNANSWERED, Fate.LATE, Fate.UNSENT])
@pytest.mark.parametrize("command", range(len(ANSWERING)))
async def test_an_answer_is_an_error_or_a_verdict_and_the_next_attempt_succeeds(
    pair: Pair, command: int, fate: Fate
) -> None:
    start = await ask(pair.here, QUESTION, ttl=600)
    doubtful = Doubtful([*[Fate.DONE] * command, fate, fate])
    view = doubtful.view(pair.there)
    with suppress(Unavailable):
        assert await answer(view, Keeper(view), QUESTION, ASKER, b"yes") is Verdict.ACCEPTED
    assert await answer(pair.there, Keeper(pair.there), QUESTION, ASKER, b"yes") is not Verdict.REFUSED
    await doubtful.deliver()
    assert await await_answer(pair.here, QUESTION, start, deadline=LONG) == b"yes"


@pytest.mark.parametrize("fate", [Fate.LOST, Fate.UNANSWERED, Fate.UNSENT])
async def test_giving_up_is_done_for_certain_before_it_is_said(pair: Pair, fate: Fate) -> None:
    start = await ask(pair.here, QUESTION, ttl=600)
    asking = Doubtful([fate, fate, fate]).view(pair.here)
    with pytest.raises(TimeoutError):
        await await_answer(asking, QUESTION, start, deadline=0)
    assert await answer(pair.there, Keeper(pair.there), QUESTION, ASKER, b"late") is Verdict.REFUSED


async def test_who_cannot_give_up_does_not_say_that_there_was_no_answer(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replies, "GRACE_SECONDS", 0.05)
    start = await ask(pair.here, QUESTION, ttl=600)
    away = Doubtful(itertools.repeat(Fate.UNSENT)).view(pair.here)
    with pytest.raises(Unavailable):
        await await_answer(away, QUESTION, start, deadline=0)


async def test_the_deadline_and_an_answer_agree_in_every_order(pair: Pair) -> None:
    outcomes = {await race_of_the_deadline(pair, steps, f"session/q/{n}", 1) for n, steps in enumerate(interleavings())}
    assert outcomes == {"answered", "given up"}


async def test_the_deadline_an_answer_and_its_copy_agree_in_many_orders(pair: Pair) -> None:
    outcomes = {
        await race_of_the_deadline(pair, steps, f"session/q/{n}", 2) for n, steps in enumerate(shuffles(24, 200))
    }
    assert outcomes == {"answered", "given up"}


async def race_of_the_deadline(pair: Pair, steps: Stepped, question: str, copies: int) -> str:
    """An asker at its deadline against so many copies of one answer: what both sides were told."""
    start = await ask(pair.here, question, ttl=60)
    views = [steps.view(pair.there) for _ in range(copies)]
    waited, *verdicts = await steps.run(
        await_answer(steps.view(pair.here), question, start, deadline=0),
        *(answer(view, Keeper(view), question, ASKER, b"yes") for view in views),
    )
    outcome = "answered" if waited == b"yes" else "given up"
    assert isinstance(waited, bytes | TimeoutError), steps
    assert [verdict is Verdict.REFUSED for verdict in verdicts] == [outcome == "given up"] * copies, steps
    return outcome


async def test_a_rollback_after_an_answer_was_accepted_lets_the_repeated_post_be_accepted_again(pair: Pair) -> None:
    rollback = Rollback(pair.store)
    view = rollback.view(pair.there)
    start = await ask(pair.here, QUESTION, ttl=600)
    assert await answer(view, Keeper(view), QUESTION, ASKER, b"yes") is Verdict.ACCEPTED
    await rollback.back()
    assert rollback.moments[-1] == f"append({QUESTION})"
    assert await answer(view, Keeper(view), QUESTION, ASKER, b"yes") is Verdict.ACCEPTED
    assert await await_answer(pair.here, QUESTION, start, deadline=LONG) == b"yes"


async def test_a_rollback_after_an_answer_that_nobody_repeats_ends_the_waiter_at_its_deadline(pair: Pair) -> None:
    rollback = Rollback(pair.store)
    view = rollback.view(pair.there)
    start = await ask(pair.here, QUESTION, ttl=600)
    assert await answer(view, Keeper(view), QUESTION, ASKER, b"yes") is Verdict.ACCEPTED
    await rollback.back()
    with pytest.raises(TimeoutError):
        await await_answer(pair.here, QUESTION, start, deadline=0.05)
    assert await answer(view, Keeper(view), QUESTION, ASKER, b"yes") is Verdict.REFUSED


async def test_a_rollback_of_the_question_itself_is_an_error_at_once(pair: Pair) -> None:
    rollback = Rollback(pair.store)
    start = await ask(rollback.view(pair.here), QUESTION, ttl=600)
    waiting = asyncio.ensure_future(await_answer(pair.here, QUESTION, start, deadline=LONG))
    await asyncio.sleep(0)
    await rollback.back()
    with pytest.raises(LogGap):
        await waiting
    assert await answer(pair.there, Keeper(pair.there), QUESTION, ASKER, b"yes") is Verdict.REFUSED
