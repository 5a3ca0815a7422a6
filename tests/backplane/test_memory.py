from mcpfleet.backplane.base import Plan, Taken, Unplan
from mcpfleet.backplane.memory import MemoryBackplane, MemoryStore
from tests.clock import Clock


async def test_what_has_expired_does_not_pile_up() -> None:
    clock = Clock()
    store = MemoryStore(clock)
    backplane = MemoryBackplane(store)
    for number in range(2000):
        await backplane.put(f"s/cell{number}", b"x", ttl=10)
        await backplane.open(f"s/log{number}", ttl=10)
        await backplane.admit(f"s/pool{number}", "m", ttl=10, cap=1)
        clock.pass_by(1)
        assert len(store) <= 2 * 33  # twice the most that is ever alive
    assert len(store.names()) <= 30


async def test_agendas_that_have_expired_or_were_emptied_do_not_pile_up() -> None:
    clock = Clock()
    store = MemoryStore(clock)
    backplane = MemoryBackplane(store)
    for number in range(500):
        await backplane.commit(Plan(f"s/short{number}", "m", 0, 10), expect={})
        await backplane.commit(Plan(f"s/emptied{number}", "m", 0, 9999), expect={})
        await backplane.commit(Unplan(f"s/emptied{number}", "m"), expect={})
        clock.pass_by(1)
        assert len(store) <= 2 * 12  # twice the most that is ever alive


async def test_what_is_alive_is_never_swept() -> None:
    clock = Clock()
    store = MemoryStore(clock)
    backplane = MemoryBackplane(store)
    start = await backplane.open("s/log", ttl=1000)
    await backplane.put("s/cell", b"x", ttl=1000)
    await backplane.admit("s/pool", "m", ttl=1000, cap=1)
    await backplane.commit(Plan("s/agenda", "m", 0, 1000), expect={})
    for number in range(900):
        await backplane.put(f"s/{number}", b"x", ttl=1)
        clock.pass_by(1)
    assert store.names() == ["s/agenda", "s/cell", "s/log", "s/pool"]
    assert await backplane.take("s/agenda", hold=60) == Taken(("m",), None)
    assert await backplane.read("s/log", after=start) == []


async def test_what_expires_does_so_by_the_injected_clock() -> None:
    clock = Clock()
    backplane = MemoryBackplane(MemoryStore(clock))
    await backplane.put("s/a", b"x", ttl=3600)
    clock.pass_by(3599)
    assert await backplane.get("s/a") == b"x"
    clock.pass_by(1)
    assert await backplane.get("s/a") is None


async def test_two_backplanes_of_their_own_share_nothing() -> None:
    await MemoryBackplane().put("s/a", b"x", ttl=60)
    assert await MemoryBackplane().get("s/a") is None


async def test_a_saved_state_does_not_change_with_the_store() -> None:
    store = MemoryStore()
    backplane = MemoryBackplane(store)
    start = await backplane.open("s/l", ttl=60)
    await backplane.append("s/l", b"one", ttl=60, keep=9)
    saved = store.snapshot()
    await backplane.append("s/l", b"two", ttl=60, keep=1)
    for _ in range(2):
        store.restore(saved)
        assert [entry.data for entry in await backplane.read("s/l", after=start)] == [b"one"]
        await backplane.append("s/l", b"three", ttl=60, keep=1)
