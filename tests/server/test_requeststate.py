"""States: sealed for one request of one party, for a time, and where the server wants it for one use."""

import time
from dataclasses import replace
from typing import Any

import pytest

from mcpfleet.backplane.base import Backplane
from mcpfleet.backplane.intercepted import Intercepted
from mcpfleet.backplane.keyring import MAX_SEALED_SECONDS, Keyring
from mcpfleet.backplane.memory import MemoryBackplane, MemoryStore
from mcpfleet.errors import Unavailable
from mcpfleet.protocol.headers import Headers
from mcpfleet.protocol.jsonrpc import Request
from mcpfleet.protocol.revisions import LATEST
from mcpfleet.server.auth import Principal
from mcpfleet.server.caller import Caller
from mcpfleet.server.requeststate import MARKS, MAX_BYTES, RequestStates, StateRefused, StateTooLarge
from tests.clock import Clock
from tests.server.world import Link

REQUEST = Request(1, "tools/call", {"name": "a", "arguments": {"x": 1, "y": 2**70}})
CALLER = Caller(LATEST, Principal("ada"), Headers.of({}), None, {}, None)


def states(store: MemoryStore, clock: Clock | None = None, *, once: bool = False, name: str = "s") -> RequestStates:
    return over(MemoryBackplane(store), clock, once=once, name=name)


def over(
    backplane: Backplane,
    clock: Clock | None = None,
    *,
    once: bool = False,
    name: str = "s",
    ring: Keyring | None = None,
) -> RequestStates:
    return RequestStates(backplane, ring or Keyring(backplane), name, once=once, clock=clock or time.time)


async def test_what_one_process_seals_another_opens() -> None:
    store = MemoryStore()
    state = await states(store).seal(REQUEST, CALLER, b"data", ttl=10)
    assert await states(store).open(REQUEST, CALLER, state) == b"data"
    assert "data" not in state


async def test_two_states_of_the_same_are_not_the_same() -> None:
    here = states(MemoryStore())
    assert await here.seal(REQUEST, CALLER, b"", ttl=10) != await here.seal(REQUEST, CALLER, b"", ttl=10)


@pytest.mark.parametrize(
    "request_",
    [
        Request(1, "prompts/get", REQUEST.params),
        Request(1, "tools/call", {**REQUEST.params, "name": "b"}),
        Request(1, "tools/call", {**REQUEST.params, "arguments": {"x": 1}}),
        Request(1, "tools/call", {**REQUEST.params, "arguments": {"x": "1", "y": 2**70}}),
        Request(1, "tools/call", {"name": "a"}),
        Request(1, "resources/read", {"uri": "a", "arguments": REQUEST.params["arguments"]}),
    ],
)
async def test_another_request_is_refused(request_: Request) -> None:
    here = states(MemoryStore())
    state = await here.seal(REQUEST, CALLER, b"", ttl=10)
    with pytest.raises(StateRefused):
        await here.open(request_, CALLER, state)


async def test_the_order_of_arguments_the_id_and_the_rest_of_the_request_do_not_matter() -> None:
    here = states(MemoryStore())
    state = await here.seal(REQUEST, CALLER, b"data", ttl=10)
    again = Request("2", "tools/call", {"arguments": {"y": 2**70, "x": 1}, "name": "a", "inputResponses": {}})
    assert await here.open(again, replace(CALLER, request_id="2"), state) == b"data"


@pytest.mark.parametrize(
    "principal", [None, Principal("eve"), Principal("ada", issuer="x"), Principal("ada", client="y")]
)
async def test_another_principal_is_refused(principal: Principal | None) -> None:
    here = states(MemoryStore())
    state = await here.seal(REQUEST, CALLER, b"", ttl=10)
    with pytest.raises(StateRefused):
        await here.open(REQUEST, replace(CALLER, principal=principal), state)


async def test_a_refreshed_token_of_the_same_principal_is_accepted() -> None:
    here = states(MemoryStore())
    state = await here.seal(REQUEST, CALLER, b"data", ttl=10)
    refreshed = replace(CALLER, principal=Principal("ada", claims={"iat": 2}))
    assert await here.open(REQUEST, refreshed, state) == b"data"


async def test_another_server_on_the_same_store_is_refused() -> None:
    store = MemoryStore()
    state = await states(store).seal(REQUEST, CALLER, b"", ttl=10)
    with pytest.raises(StateRefused):
        await states(store, name="other").open(REQUEST, CALLER, state)


async def test_a_state_lapses_and_at_the_latest_after_a_day() -> None:
    clock = Clock()
    here = states(MemoryStore(), clock)
    short, long = [await here.seal(REQUEST, CALLER, b"data", ttl=ttl) for ttl in (10, 10 * MAX_SEALED_SECONDS)]
    clock.pass_by(9.9)
    assert await here.open(REQUEST, CALLER, short) == b"data"
    clock.pass_by(0.1)
    with pytest.raises(StateRefused):
        await here.open(REQUEST, CALLER, short)
    assert await here.open(REQUEST, CALLER, long) == b"data"
    clock.pass_by(MAX_SEALED_SECONDS)
    with pytest.raises(StateRefused):
        await here.open(REQUEST, CALLER, long)


async def test_every_changed_character_is_found() -> None:
    here = states(MemoryStore())
    state = await here.seal(REQUEST, CALLER, b"data", ttl=10)
    for place in range(len(state)):
        other = "A" if state[place] != "A" else "B"
        with pytest.raises(StateRefused):
            await here.open(REQUEST, CALLER, state[:place] + other + state[place + 1 :])


@pytest.mark.parametrize("state", ["", "AQ", "=", "AQ==", "a b", "é", "A" * (MAX_BYTES + 1), 1, None, [], {}])
async def test_what_is_no_state_at_all_is_refused(state: Any) -> None:
    with pytest.raises(StateRefused):
        await states(MemoryStore()).open(REQUEST, CALLER, state)


async def test_what_no_state_can_carry_is_not_sealed() -> None:
    here = states(MemoryStore())
    assert len(await here.seal(REQUEST, CALLER, b"x" * (MAX_BYTES // 2), ttl=10)) <= MAX_BYTES
    with pytest.raises(StateTooLarge):
        await here.seal(REQUEST, CALLER, b"x" * MAX_BYTES, ttl=10)


async def test_a_state_survives_a_rotation() -> None:
    store = MemoryStore()
    backplane = MemoryBackplane(store)
    ring = Keyring(backplane)
    here = over(backplane, ring=ring)
    state = await here.seal(REQUEST, CALLER, b"data", ttl=10)
    await ring.rotate()
    assert await states(store).open(REQUEST, CALLER, state) == b"data"


async def test_with_a_key_that_is_not_known_here_and_no_store_it_is_not_called_invalid() -> None:
    store, link = MemoryStore(), Link()
    state = await states(store).seal(REQUEST, CALLER, b"data", ttl=10)
    here = over(Intercepted(MemoryBackplane(store), link))
    link.away = True
    with pytest.raises(Unavailable):
        await here.open(REQUEST, CALLER, state)
    link.away = False
    assert await here.open(REQUEST, CALLER, state) == b"data"
    link.away = True
    assert await here.open(REQUEST, CALLER, state) == b"data"


async def test_a_state_for_one_use_is_accepted_once_whatever_process_it_comes_to() -> None:
    store = MemoryStore()
    state = await states(store, once=True).seal(REQUEST, CALLER, b"data", ttl=10)
    assert await states(store, once=True).open(REQUEST, CALLER, state) == b"data"
    for _ in range(2):
        with pytest.raises(StateRefused):
            await states(store, once=True).open(REQUEST, CALLER, state)


async def test_a_refused_attempt_does_not_use_a_state_up() -> None:
    here = states(MemoryStore(), once=True)
    state = await here.seal(REQUEST, CALLER, b"data", ttl=10)
    with pytest.raises(StateRefused):
        await here.open(REQUEST, replace(CALLER, principal=None), state)
    assert await here.open(REQUEST, CALLER, state) == b"data"


async def test_a_use_that_is_in_doubt_is_not_called_invalid() -> None:
    store, link = MemoryStore(), Link()
    here = over(Intercepted(MemoryBackplane(store), link), once=True)
    state = await here.seal(REQUEST, CALLER, b"data", ttl=10)
    link.lossy = "put states/use/*"
    with pytest.raises(Unavailable):
        await here.open(REQUEST, CALLER, state)


async def test_once_the_store_has_forgotten_its_uses_every_older_state_for_one_use_is_refused() -> None:
    store = MemoryStore()
    backplane = MemoryBackplane(store)
    here = over(backplane, once=True)
    state = await here.seal(REQUEST, CALLER, b"data", ttl=10)
    await backplane.delete(MARKS)
    with pytest.raises(StateRefused):
        await here.open(REQUEST, CALLER, state)
    assert await here.open(REQUEST, CALLER, await here.seal(REQUEST, CALLER, b"new", ttl=10)) == b"new"


async def test_without_the_store_a_state_for_one_use_is_neither_used_nor_refused() -> None:
    store, link = MemoryStore(), Link()
    here = over(Intercepted(MemoryBackplane(store), link), once=True)
    state = await here.seal(REQUEST, CALLER, b"data", ttl=10)
    link.away = True
    with pytest.raises(Unavailable):
        await here.open(REQUEST, CALLER, state)
    link.away = False
    assert await here.open(REQUEST, CALLER, state) == b"data"
