"""A function that an author wrote, and how the engine calls it."""

import inspect
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any

from mcpfleet.errors import RegistrationError
from mcpfleet.protocol.questions import InputRequiredResult
from mcpfleet.server.signature import Signature
from mcpfleet.server.threads import Threads


class InputRequired(Exception):
    """A function has not returned a result, but what it must be told before it has one.

    It stays inside the engine: it passes by all that makes results of what functions return.
    """

    def __init__(self, wanted: InputRequiredResult) -> None:
        super().__init__("input required")
        self.wanted = wanted


@dataclass(frozen=True, slots=True)
class Callee:
    """A function, ready to be called by keywords; one that is not a coroutine function runs in a thread."""

    function: Callable[..., Any]
    contexts: tuple[str, ...]
    """The parameters that take the request's context."""
    dependencies: tuple[tuple[str, "Callee"], ...]
    """The parameters that other functions fill."""
    is_async: bool
    yields: bool = False
    """Whether it is an asynchronous generator, whose one value is good until the call has ended."""

    @classmethod
    def of(cls, function: Callable[..., Any], declared: Signature, where: str) -> "Callee":
        """From a function and its signature; `RegistrationError` for a generator, which returns nothing to send."""
        if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
            raise RegistrationError(f"{where}: a generator cannot be served; return a list, or report progress")
        return cls._made(function, declared, where)

    @classmethod
    def _made(cls, function: Callable[..., Any], declared: Signature, where: str) -> "Callee":
        if inspect.isgeneratorfunction(function):
            raise RegistrationError(f"{where}: nothing can depend on a generator that is not asynchronous")
        is_async = inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(type(function).__call__)
        dependencies = tuple((one.name, cls._made(one.function, one.signature, where)) for one in declared.dependencies)
        return cls(function, declared.contexts, dependencies, is_async, inspect.isasyncgenfunction(function))

    async def call(self, keywords: Mapping[str, Any], context: object, threads: Threads) -> Any:
        """Call the function, after those that it depends on, and return what it returns.

        Raises `InputRequired`, `Overloaded`, and whatever the functions raise. One that tries to end the process only
        fails.
        """
        value = await self.returned(keywords, context, threads)
        if isinstance(value, InputRequiredResult):
            raise InputRequired(value)
        return value

    async def returned(self, keywords: Mapping[str, Any], context: object, threads: Threads) -> Any:
        """Likewise, whatever it returns."""
        if not self.dependencies:
            given = {**keywords, **dict.fromkeys(self.contexts, context)} if self.contexts else keywords
            return await self.run(given, threads)
        async with AsyncExitStack() as held:
            provided = await _Call(context, threads, held).provided(self)
            return await self.run({**keywords, **provided}, threads)
        raise RuntimeError("a dependency swallowed an exception")

    async def run(self, given: Mapping[str, Any], threads: Threads) -> Any:
        """Call this function alone, with all that it takes."""
        try:
            if self.is_async:
                return await self.function(**given)
            value = await threads.run(self.function, **given)
            return await value if inspect.isawaitable(value) else value
        except SystemExit as exit_:
            raise RuntimeError("the function tried to end the process") from exit_


class _Call:
    """What the dependencies of one call have come to so far."""

    def __init__(self, context: object, threads: Threads, held: AsyncExitStack) -> None:
        self._context = context
        self._threads = threads
        self._held = held
        self._values: dict[int, Any] = {}

    async def provided(self, callee: Callee) -> dict[str, Any]:
        """All that a function takes beside its arguments."""
        given: dict[str, Any] = dict.fromkeys(callee.contexts, self._context)
        for name, dependency in callee.dependencies:
            given[name] = await self._value(dependency)
        return given

    async def _value(self, dependency: Callee) -> Any:
        key = id(dependency.function)
        if key not in self._values:
            given = await self.provided(dependency)
            if dependency.yields:
                self._values[key] = await self._held.enter_async_context(
                    asynccontextmanager(dependency.function)(**given)
                )
            else:
                self._values[key] = await dependency.run(given, self._threads)
        return self._values[key]
