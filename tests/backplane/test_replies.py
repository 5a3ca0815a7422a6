import asyncio
from contextlib import suppress

import pytest

from mcpfleet.backplane.base import Position
from mcpfleet.backplane.leases import Keeper
from mcpfleet.backplane.memory import MemoryBackplane, MemoryStore
from mcpfleet.backplane.replies import Verdict, answer, ask, await_answer
from mcpfleet.errors import LogGap
from tests.clock import Clock

QUESTION = "session/x/1/q/1"
ASKER = "session/x/1/alive"
LONG = 60.0


class Conversation:
    """The process that asks and the one that receives the answer."""

    def __init__(self) -> None:
        self.clock = Clock()
        store = MemoryStore(self.clock)
        self.asking, self.answering = MemoryBackplane(store), MemoryBackplane(store)
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


@pytest.fixture
def conversation() -> Conversation:
    return Conversation()


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
    assert len(conversation.answering.store) == 0


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
    with suppress(TimeoutError):
        async with asyncio.timeout(0.01):
            await conversation.wait(start)
    assert await conversation.answer(b"late") is Verdict.REFUSED


async def test_a_question_that_was_given_up_stays_given_up_for_whoever_waits_again(conversation: Conversation) -> None:
    start = await conversation.ask()
    with pytest.raises(TimeoutError):
        await conversation.wait(start, deadline=0)
    with pytest.raises(TimeoutError):
        await conversation.wait(start)


async def test_answers_to_a_dead_asker_are_refused(conversation: Conversation) -> None:
    await conversation.ask()
    for _ in range(5):
        await conversation.answerer.round()
        conversation.clock.pass_by(2.5)
    assert await conversation.answer(b"yes") is Verdict.REFUSED


async def test_an_answer_accepted_before_its_asker_died_is_still_known(conversation: Conversation) -> None:
    await conversation.ask()
    await conversation.answer(b"yes")
    for _ in range(5):
        await conversation.answerer.round()
        conversation.clock.pass_by(2.5)
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


async def test_an_answer_post_cancelled_midway_can_be_given_again(conversation: Conversation) -> None:
    start = await conversation.ask()
    for turns in range(6):
        first = asyncio.ensure_future(conversation.answer(b"yes"))
        for _ in range(turns):
            await asyncio.sleep(0)
        first.cancel()
        await asyncio.wait([first])
    assert await conversation.answer(b"yes") in {Verdict.ACCEPTED, Verdict.REPEATED}
    assert await conversation.wait(start) == b"yes"
