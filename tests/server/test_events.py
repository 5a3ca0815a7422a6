"""Changes that every process must hear."""

import pytest

from mcpfleet.backplane.faults import Doubtful, Fate
from mcpfleet.backplane.leases import Keeper
from mcpfleet.backplane.memory import MemoryBackplane, MemoryStore
from mcpfleet.backplane.stored import pack
from mcpfleet.errors import Unavailable
from mcpfleet.protocol.messages.tools import ToolAnnotations
from mcpfleet.server.events import EVENTS, VERSION_GONE, Change, Events, read
from mcpfleet.server.policy import Policy
from mcpfleet.server.process import Process


def events_on(backplane: MemoryBackplane) -> Events:
    return Events(Process(backplane, Keeper(backplane), Policy()))


async def published(store: MemoryStore) -> list[Change | None]:
    """Every change in the log of a store that was empty."""
    log = store.log(EVENTS)
    assert log is not None
    return [read(entry.data) for entry in log.after(log.start, 100)]


async def test_the_first_change_ever_opens_the_log() -> None:
    store = MemoryStore()
    await events_on(MemoryBackplane(store)).publish(Change("tools"))
    await events_on(MemoryBackplane(store)).publish(Change("prompts"))
    assert await published(store) == [Change("tools"), Change("prompts")]


async def test_what_several_processes_publish_with_one_mark_is_published_once() -> None:
    store = MemoryStore()
    for _ in range(3):
        await events_on(MemoryBackplane(store)).publish(Change(VERSION_GONE), "0123456789abcdef")
    assert await published(store) == [Change(VERSION_GONE)]


@pytest.mark.parametrize("fate", [Fate.LOST, Fate.UNANSWERED, Fate.LATE])
@pytest.mark.parametrize("at", range(3))
async def test_a_change_in_doubt_is_published_once(fate: Fate, at: int) -> None:
    store = MemoryStore()
    faults = Doubtful([Fate.DONE] * at + [fate])
    await events_on(faults.view(MemoryBackplane(store))).publish(Change("tools"))  # type: ignore[arg-type]  # as good
    await faults.deliver()
    assert await published(store) == [Change("tools")]


async def test_a_change_that_cannot_be_published_is_not_taken_for_published() -> None:
    faults = Doubtful([Fate.UNSENT])
    with pytest.raises(Unavailable):
        await events_on(faults.view(MemoryBackplane())).publish(Change("tools"))  # type: ignore[arg-type]  # as good


@pytest.mark.parametrize(
    "data",
    [b"", b"\xff", b"\x01", b"\x01\x81", pack(ToolAnnotations())],
)
def test_an_entry_of_another_version_is_nothing_and_stops_nobody(data: bytes, caplog: pytest.LogCaptureFixture) -> None:
    assert read(data) is None
    assert "passed over" in caplog.text


@pytest.mark.parametrize(
    "change",
    [Change("tools"), Change("resource", "a://b"), Change("resource", "a://b", ("i", "s", "c")), Change("new")],
)
def test_a_change_comes_back_as_it_was(change: Change) -> None:
    assert read(pack(change)) == change


def test_a_change_concerns_everybody_or_one_owner() -> None:
    ada, bob = ("", "ada", ""), ("", "bob", "")
    assert Change("tools").concerns(ada)
    assert Change("tools", "", ada).concerns(ada)
    assert not Change("tools", "", ada).concerns(bob)
