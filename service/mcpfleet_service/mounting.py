"""Our applications inside an existing one: web frameworks do not run the lifespan of what is mounted."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from typing import Any

from fastapi import FastAPI


def lifespan_of(*apps: FastAPI) -> Callable[[Any], AbstractAsyncContextManager[None]]:
    """The lifespan for an application in which these are mounted: they start with it, in order, and stop with it.

    An application with a lifespan of its own enters this one in it.
    """

    @asynccontextmanager
    async def lifespan(_app: Any) -> AsyncIterator[None]:
        async with AsyncExitStack() as running:
            for app in apps:
                await running.enter_async_context(app.router.lifespan_context(app))
            yield

    return lifespan
