"""What a server sets up before it serves, and takes down afterwards, once in each process."""

import asyncio
import inspect
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from typing import Any, Final

from mcpfleet.errors import LifespanFailed, RegistrationError

START_SECONDS: Final = 600.0
"""How long it may take to set everything up."""
STOP_SECONDS: Final = 30.0
"""How long it may take to take everything down."""

Lifespan = Callable[[Any], AbstractAsyncContextManager[Any] | AsyncIterator[Any]]
"""From the server to a context that lasts as long as a process serves; what it yields is `Context.lifespan`."""


def checked_lifespan(lifespan: Lifespan) -> Lifespan:
    """The lifespan itself; `RegistrationError` for a function that could not be one."""
    if not callable(lifespan) or inspect.iscoroutinefunction(lifespan) or inspect.isgeneratorfunction(lifespan):
        raise RegistrationError("a lifespan is an asynchronous generator with one yield, or returns a context manager")
    return lifespan


class Lived:
    """The lifespans of one server in one process: its own, and those of the servers that it includes."""

    __slots__ = ("_lifespans", "value")

    def __init__(self, lifespans: Sequence[Lifespan] = ()) -> None:
        self._lifespans = tuple(lifespans)
        self.value: Any = None
        """What they yield, while they last."""

    @asynccontextmanager
    async def during(self, server: Any) -> AsyncIterator[None]:
        """Enter them before the block, in order, and leave them after it.

        Raises `LifespanFailed` if one cannot be entered, having left those that could, and `TimeoutError` if they take
        too long to be left.
        """
        async with asyncio.timeout(None) as deadline, AsyncExitStack() as held:
            try:
                async with asyncio.timeout(START_SECONDS):
                    self.value = merged([await _entered(held, lifespan, server) for lifespan in self._lifespans])
            except TimeoutError:
                raise LifespanFailed(f"the lifespan of {server.name!r} took more than {START_SECONDS:g} s") from None
            try:
                yield
            finally:
                deadline.reschedule(asyncio.get_running_loop().time() + STOP_SECONDS)


async def _entered(held: AsyncExitStack, lifespan: Lifespan, server: Any) -> Any:
    try:
        made = lifespan(server)
        context = made if isinstance(made, AbstractAsyncContextManager) else asynccontextmanager(lambda: made)()
        return await held.enter_async_context(context)
    except Exception as error:  # the boundary of what an author wrote: the start fails, and says why
        raise LifespanFailed(f"the lifespan of {server.name!r} failed: {type(error).__name__}: {error}") from error


def merged(values: Sequence[Any]) -> Any:
    """What several lifespans yield, as one: the only value that there is, or the members of all mappings."""
    given = [value for value in values if value is not None]
    if len(given) < 2:
        return given[0] if given else None
    whole: dict[str, Any] = {}
    for each in given:
        if not isinstance(each, Mapping):
            raise LifespanFailed(f"several lifespans must yield mappings to be merged, not a {type(each).__name__}")
        if both := sorted(whole.keys() & each.keys()):
            raise LifespanFailed(f"several lifespans yield {', '.join(map(str, both))}")
        whole |= each
    return whole
