"""A backplane of one's own, held to the contract; `docs/writing-a-backplane.md` shows both halves.

A fixture called `pair` in a module that imports the suite takes the place of the suite's own.
"""

from collections import Counter
from collections.abc import Awaitable, Callable
from typing import TypeVar

import pytest

from mcpfleet.backplane.base import Bell
from mcpfleet.backplane.intercepted import Intercepted, Verb
from mcpfleet.backplane.memory import MemoryBackplane, MemoryStore
from mcpfleet.backplane.storecontrol import MemoryControl
from tests.backplane.conftest import Pair
from tests.backplane.test_agendas import *  # noqa: F403 - the tests of the suite become tests of this module
from tests.backplane.test_bells import *  # noqa: F403 - likewise
from tests.backplane.test_cells import *  # noqa: F403 - likewise
from tests.backplane.test_commits import *  # noqa: F403 - likewise
from tests.backplane.test_follow import *  # noqa: F403 - likewise
from tests.backplane.test_logs import *  # noqa: F403 - likewise
from tests.backplane.test_pools import *  # noqa: F403 - likewise

Result = TypeVar("Result")


class Counting:
    """Counts the verbs that go through it, by name."""

    def __init__(self) -> None:
        self.counts: Counter[Verb] = Counter()

    async def verb(self, verb: Verb, name: str, act: Callable[[], Awaitable[Result]], /) -> Result:
        """See `Interceptor.verb`."""
        self.counts[verb] += 1
        return await act()

    def bell(self, inner: Bell, /) -> Bell:
        """See `Interceptor.bell`."""
        return inner


@pytest.fixture
def pair() -> Pair:
    """Two processes' views of one store, each through a backplane of our own, and power over the store."""
    store = MemoryStore()
    here, there = (Intercepted(MemoryBackplane(store), Counting()) for _ in range(2))
    return Pair(here, there, MemoryControl(store))


async def test_what_goes_through_is_counted() -> None:
    counting = Counting()
    backplane = Intercepted(MemoryBackplane(), counting)
    await backplane.put("s/a", b"x", ttl=60)
    await backplane.get("s/a")
    await backplane.get("s/a")
    assert counting.counts == {"put": 1, "get": 2}
