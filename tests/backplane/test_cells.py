import pytest

from mcpfleet.backplane.base import ABSENT, MAX_ENTRY_BYTES, mint
from mcpfleet.backplane.faults import Doubtful, Fate
from mcpfleet.errors import InDoubt, NameRefused, TooLarge, Unavailable
from tests.backplane.conftest import Pair


async def test_a_cell_written_here_is_read_there(pair: Pair) -> None:
    assert await pair.here.put("s/a", b"\x00\xff\r\n", ttl=60)
    assert await pair.there.get("s/a") == b"\x00\xff\r\n"


async def test_an_absent_cell_reads_as_none(pair: Pair) -> None:
    assert await pair.here.get("s/a") is None
    assert await pair.here.get("s/a", ttl=60) is None


async def test_an_empty_cell_is_not_an_absent_one(pair: Pair) -> None:
    assert await pair.here.put("s/a", b"", ttl=60)
    assert await pair.there.get("s/a") == b""
    assert not await pair.there.put("s/a", b"x", ttl=60, expect=ABSENT)
    assert await pair.there.put("s/a", b"x", ttl=60, expect=b"")


async def test_a_cell_ends_with_its_life(pair: Pair) -> None:
    await pair.here.put("s/a", b"x", ttl=60)
    await pair.store.age(59)
    assert await pair.there.get("s/a") == b"x"
    await pair.store.age(1)
    assert await pair.there.get("s/a") is None
    assert await pair.store.names() == []


async def test_reading_with_a_ttl_sets_the_life(pair: Pair) -> None:
    await pair.here.put("s/a", b"x", ttl=10)
    assert await pair.there.get("s/a", ttl=60) == b"x"
    await pair.store.age(59)
    assert await pair.here.get("s/a") == b"x"
    assert await pair.here.get("s/a", ttl=5) == b"x"
    await pair.store.age(5)
    assert await pair.here.get("s/a") is None


async def test_a_write_that_expects_absence_takes_what_has_expired(pair: Pair) -> None:
    await pair.here.put("s/a", b"old", ttl=10)
    assert not await pair.there.put("s/a", b"new", ttl=10, expect=ABSENT)
    await pair.store.age(10)
    assert await pair.there.put("s/a", b"new", ttl=10, expect=ABSENT)
    assert await pair.here.get("s/a") == b"new"


async def test_a_refused_write_changes_neither_the_value_nor_the_life(pair: Pair) -> None:
    await pair.here.put("s/a", b"x", ttl=10)
    assert not await pair.there.put("s/a", b"y", ttl=1000, expect=b"z")
    assert not await pair.there.put("s/a", b"z", ttl=1000, expect=b"z")
    assert not await pair.there.put("s/a", b"y", ttl=1000, expect=ABSENT)
    assert await pair.here.get("s/a") == b"x"
    await pair.store.age(10)
    assert await pair.here.get("s/a") is None


async def test_a_write_that_expects_bytes_needs_a_cell(pair: Pair) -> None:
    assert not await pair.here.put("s/a", b"y", ttl=60, expect=b"")
    assert not await pair.here.put("s/a", b"y", ttl=60, expect=b"y")
    assert await pair.store.names() == []


async def test_a_write_that_expects_what_is_there_replaces_value_and_life(pair: Pair) -> None:
    await pair.here.put("s/a", b"x", ttl=10)
    assert await pair.there.put("s/a", b"y", ttl=60, expect=b"x")
    await pair.store.age(59)
    assert await pair.here.get("s/a") == b"y"


async def test_a_write_of_the_same_bytes_renews_the_life(pair: Pair) -> None:
    await pair.here.put("s/a", b"token", ttl=10)
    assert await pair.here.put("s/a", b"token", ttl=60, expect=b"token")
    await pair.store.age(59)
    assert await pair.there.get("s/a") == b"token"


async def test_a_delete_says_whether_something_was_there(pair: Pair) -> None:
    await pair.here.put("s/a", b"x", ttl=60)
    assert await pair.there.delete("s/a")
    assert not await pair.there.delete("s/a")
    assert await pair.here.get("s/a") is None


async def test_a_delete_of_the_expired_finds_nothing(pair: Pair) -> None:
    await pair.here.put("s/a", b"x", ttl=10)
    await pair.store.age(10)
    assert not await pair.there.delete("s/a")


async def test_a_delete_that_expects_other_bytes_removes_nothing(pair: Pair) -> None:
    await pair.here.put("s/a", b"x", ttl=60)
    assert not await pair.there.delete("s/a", expect=b"y")
    assert not await pair.there.delete("s/a", expect=ABSENT)
    assert await pair.here.get("s/a") == b"x"
    assert await pair.there.delete("s/a", expect=b"x")
    assert await pair.here.get("s/a") is None


async def test_a_cell_and_a_log_of_one_name_do_not_meet(pair: Pair) -> None:
    start = await pair.here.open("s/a", ttl=60)
    await pair.here.put("s/a", b"cell", ttl=60)
    end = await pair.here.append("s/a", b"entry", ttl=60, keep=9)
    assert await pair.there.get("s/a") == b"cell"
    assert [entry.position for entry in await pair.there.read("s/a", after=start)] == [end]


@pytest.mark.parametrize(
    "name",
    [
        "",
        "a",
        "/a",
        "a/",
        "a//b",
        "{a}/b",
        "a/{b}",
        "a/b c",
        "a/b\n",
        "a/b#meta",
        "a/*",
        "ä/b",
        "a/" + "b" * 511,
        "a/\ud800",
    ],
)
async def test_a_bad_name_is_refused_by_every_verb_and_leaves_nothing(pair: Pair, name: str) -> None:
    start = await pair.here.open("s/l", ttl=60)
    with pytest.raises(NameRefused):
        await pair.here.get(name)
    with pytest.raises(NameRefused):
        await pair.here.put(name, b"x", ttl=60)
    with pytest.raises(NameRefused):
        await pair.here.delete(name)
    with pytest.raises(NameRefused):
        await pair.here.admit(name, "m", ttl=60, cap=1)
    with pytest.raises(NameRefused):
        await pair.here.open(name, ttl=60)
    with pytest.raises(NameRefused):
        await pair.here.append(name, b"x", ttl=60, keep=1)
    with pytest.raises(NameRefused):
        await pair.here.read(name, after=start)
    with pytest.raises(NameRefused):
        async with pair.here.watch(name):
            pass
    names = await pair.store.names()
    assert len([each for each in names if "#entries" not in each]) == 1


@pytest.mark.parametrize("scope", ["", "a/b", "{a}", "a b"])
async def test_a_bad_scope_is_refused_by_settle(pair: Pair, scope: str) -> None:
    with pytest.raises(NameRefused):
        await pair.here.settle(scope)


async def test_without_a_durability_settling_is_done_at_once(pair: Pair) -> None:
    await pair.here.settle("s")
    assert await pair.store.names() == []


@pytest.mark.parametrize("ttl", [0, -1, float("nan"), float("inf"), 1e12])
async def test_a_life_that_no_store_can_keep_is_refused(pair: Pair, ttl: float) -> None:
    with pytest.raises(ValueError, match="life"):
        await pair.here.put("s/a", b"x", ttl=ttl)
    with pytest.raises(ValueError, match="life"):
        await pair.here.get("s/a", ttl=ttl)
    with pytest.raises(ValueError, match="life"):
        await pair.here.open("s/a", ttl=ttl)
    assert await pair.store.names() == []


async def test_too_large_a_value_is_refused_before_it_is_sent(pair: Pair) -> None:
    too_large = bytes(MAX_ENTRY_BYTES + 1)
    await pair.here.open("s/l", ttl=60)
    with pytest.raises(TooLarge):
        await pair.here.put("s/a", too_large, ttl=60)
    with pytest.raises(TooLarge):
        await pair.here.append("s/l", too_large, ttl=60, keep=1)
    assert await pair.there.get("s/a") is None
    assert (await pair.there.open("s/l", ttl=60)).offset == 0


@pytest.mark.parametrize("fate", [Fate.LOST, Fate.UNANSWERED, Fate.LATE])
async def test_who_was_in_doubt_about_a_conditional_write_finds_its_own_value_or_writes_it(
    pair: Pair, fate: Fate
) -> None:
    doubtful = Doubtful([fate])
    view, mine = doubtful.view(pair.here), mint().encode()
    with pytest.raises(InDoubt):
        await view.put("s/a", mine, ttl=60, expect=ABSENT)
    assert await view.get("s/a") == mine or await view.put("s/a", mine, ttl=60, expect=ABSENT)
    await doubtful.deliver()
    assert await pair.there.get("s/a") == mine
    assert not await pair.there.put("s/a", b"other", ttl=60, expect=ABSENT)


@pytest.mark.parametrize("fate", [Fate.LOST, Fate.UNANSWERED, Fate.LATE])
async def test_a_release_repeated_after_doubt_never_removes_the_next_owners_cell(pair: Pair, fate: Fate) -> None:
    doubtful = Doubtful([fate])
    view = doubtful.view(pair.here)
    await pair.here.put("s/a", b"mine", ttl=60)
    with pytest.raises(InDoubt):
        await view.delete("s/a", expect=b"mine")
    await view.delete("s/a", expect=b"mine")
    assert await pair.there.put("s/a", b"theirs", ttl=60, expect=ABSENT)
    await doubtful.deliver()
    assert await pair.there.get("s/a") == b"theirs"


async def test_what_was_never_sent_never_happens(pair: Pair) -> None:
    doubtful = Doubtful([Fate.UNSENT])
    with pytest.raises(Unavailable) as unsent:
        await doubtful.view(pair.here).put("s/a", b"x", ttl=60)
    assert not isinstance(unsent.value, InDoubt)
    await doubtful.deliver()
    assert await pair.there.get("s/a") is None
