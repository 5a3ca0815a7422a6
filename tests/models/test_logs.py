"""Writers and a reader of one log in every order, with whatever may break: the fleet's own `follow` and `settled`.

The last tests plant what was found wrong with simpler ways, and the search must find it again.
"""

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from functools import partial
from itertools import pairwise
from typing import Any, Final
from unittest import mock

import pytest

from mcpfleet.backplane.base import Backplane, Entry, Position, mint
from mcpfleet.backplane.doubt import settled
from mcpfleet.backplane.follow import follow
from mcpfleet.backplane.memory import MemoryBackplane
from mcpfleet.errors import LogGap, Unavailable
from tests.models.search import Broken, Judges, search
from tests.models.world import World

LOG: Final = "s/log"
WRITTEN: Final = (b"one", b"two")
Follow = Callable[[Backplane, str, Position], AsyncGenerator[Entry, None]]
Publish = Callable[[Backplane, bytes], Any]
FOLLOW: Final[Follow] = partial(follow, ttl=600)


async def publish(backplane: Backplane, data: bytes) -> None:
    """Append, as whoever tells the fleet of a change does."""
    mark = mint()
    await settled(lambda: backplane.append(LOG, data, ttl=600, keep=100, mark=mark))


def log(
    world: World,
    publish: Publish = publish,
    follow: Follow = FOLLOW,
    written: Sequence[bytes] = WRITTEN,
) -> Judges:
    """One process opens a log and reads it, and others append an entry each."""
    reading = world.process("reader", sound=True)
    view = world.backplane(reading)
    opened: list[Position] = []
    found: list[Entry] = []
    before: dict[str, str] = {}

    async def reads() -> None:
        opened.append(await settled(lambda: view.open(LOG, ttl=600)))
        async with aclosing(follow(view, LOG, opened[0])) as entries:
            async for entry in entries:
                found.append(entry)  # noqa: PERF401 - the judges look at what is there so far

    reader = world.start(reading, reads, enough=lambda: found == _entries(world))
    writers = {}
    for data in written:
        process = world.process(f"writer of {data.decode()}")
        publishing = partial(publish, world.backplane(process), data)
        writers[data] = world.start(process, publishing, after=lambda: bool(opened), surely=True)

    def always() -> None:
        entries = _entries(world)
        before.update((later, earlier) for earlier, later in pairwise(_marks(opened, entries)))
        contents = [entry.data for entry in entries]
        assert len(set(contents)) == len(contents), "an entry is there twice"
        read = _marks(opened, found)
        for earlier, later in pairwise(read):
            assert before[later] == earlier, "the reader has passed over an entry, or into another history"
        if not world.history_was_lost:
            for data, writer in writers.items():
                written = writer.task.done() and writer.process.alive and writer.outcome is None
                assert not written or data in contents, "what was acknowledged is not there"

    def finally_() -> None:
        always()
        assert isinstance(reader.outcome, LogGap | Unavailable) or found == _entries(world), (
            "the reader misses something"
        )

    return Judges(always, finally_)


def _entries(world: World) -> list[Entry]:
    return world.store.entries(LOG) or []


def _marks(opened: Sequence[Position], entries: Sequence[Entry]) -> list[str]:
    return [position.mark for position in (*opened, *(entry.position for entry in entries))]


@pytest.mark.parametrize("harm", ["", "doubt", "kill", "deafen", "outage", "wipe", "failover"])
def test_a_reader_gets_every_entry_once_and_in_order_or_is_told_of_a_gap(harm: str) -> None:
    assert search(log, ticks=3, **_once(harm)) > 20


def _once(harm: str) -> dict[str, int]:
    return {harm: 1} if harm else {}


async def _publish_with_a_new_mark(backplane: Backplane, data: bytes) -> None:
    """Let the same append again be another one."""
    await settled(lambda: backplane.append(LOG, data, ttl=600, keep=100, mark=mint()))


async def _trust_each_ring(backplane: Backplane, log: str, after: Position) -> AsyncGenerator[Entry, None]:
    """Take each ring for one entry, as if the bell had carried it."""
    async with backplane.watch(log) as bell:
        while True:
            await bell.rung()
            for entry in (await backplane.read(log, after=after))[-1:]:
                after = entry.position
                yield entry


async def _never_look_again(backplane: Backplane, log: str, after: Position) -> AsyncGenerator[Entry, None]:
    """Listen first, but trust that no bell is lost."""
    async with aclosing(follow(backplane, log, after, ttl=600, poll=1e9)) as entries:
        async for entry in entries:
            yield entry


async def _read_by_offset(
    self: MemoryBackplane, log: str, *, after: Position, limit: int = 100, ttl: float | None = None
) -> Sequence[Entry]:
    """Go on behind an offset, whichever history it was in."""
    found = self.store.log(log)
    if found is None or found.end.offset < after.offset:
        raise LogGap(log)
    found.deadline = self.store.deadline(600_000)
    return [entry for offset, entry in found.entries.items() if offset > after.offset][:limit]


@pytest.mark.parametrize(
    ("planted", "harm", "complaint"),
    [
        ({"publish": _publish_with_a_new_mark}, "doubt", "twice"),
        ({"follow": _trust_each_ring}, "", "passed over"),
        ({"follow": _never_look_again}, "deafen", "some never end"),
    ],
    ids=["marked-at-random", "ring-as-entry", "never-looked-again"],
)
def test_the_search_finds_what_is_wrong_with_simpler_ways(planted: dict[str, Any], harm: str, complaint: str) -> None:
    with pytest.raises(Broken, match=complaint):
        search(partial(log, **planted), ticks=3, **_once(harm))


def test_the_search_finds_what_is_wrong_with_positions_that_are_offsets() -> None:
    with (
        mock.patch.object(MemoryBackplane, "read", _read_by_offset),
        pytest.raises(Broken, match=r"some never end|another history"),
    ):
        search(log, ticks=1, failover=1)
