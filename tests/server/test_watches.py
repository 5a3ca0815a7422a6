"""Watches: what one stream is still to tell, however fast things change and however slowly it is read."""

import asyncio

from mcpfleet.server.topics import TOOLS, Topic
from mcpfleet.server.watches import Watch
from tests.server.wire import DEADLINE

ADA = ("", "ada", "")
ONE, TWO = Topic("resource", "a://1"), Topic("resource", "a://2")


def test_each_topic_is_due_once_in_the_order_in_which_it_changed_first() -> None:
    watch = Watch(frozenset({ONE, TWO, TOOLS}), ADA)
    for topic in (TWO, ONE, TWO, TWO, ONE):
        watch.changed(topic)
    assert watch.take() == (TWO, ONE)
    assert watch.take() == ()


def test_what_changes_after_it_was_taken_is_due_again() -> None:
    watch = Watch(frozenset({ONE}), ADA)
    watch.changed(ONE)
    watch.take()
    watch.changed(ONE)
    assert watch.take() == (ONE,)


def test_doubt_makes_every_topic_due_once() -> None:
    watch = Watch(frozenset({ONE, TWO}), ADA)
    watch.changed(TWO)
    watch.doubt()
    watch.doubt()
    assert watch.doubtful
    assert watch.take() == (TWO, ONE)
    assert not watch.doubtful
    assert watch.take() == ()


async def test_news_is_waited_for_and_the_end_is_told_for_ever() -> None:
    watch = Watch(frozenset({ONE}), ADA)
    async with asyncio.timeout(DEADLINE), asyncio.TaskGroup() as tasks:
        waiting = tasks.create_task(watch.news())
        await asyncio.sleep(0)
        assert not waiting.done()
        watch.changed(ONE)
    assert waiting.result()
    watch.end()
    assert watch.take() == (ONE,)
    assert not await watch.news()
    assert not await watch.news()
