"""A function that an author wrote, and how the engine calls it."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from mcpfleet.errors import RegistrationError
from mcpfleet.server.signature import Signature
from mcpfleet.server.threads import Threads


@dataclass(frozen=True, slots=True)
class Callee:
    """A function, ready to be called by keywords; one that is not a coroutine function runs in a thread."""

    function: Callable[..., Any]
    contexts: tuple[str, ...]
    """The parameters that take the request's context."""
    is_async: bool

    @classmethod
    def of(cls, function: Callable[..., Any], declared: Signature, where: str) -> "Callee":
        """From a function and its signature; `RegistrationError` for a generator, which returns nothing to send."""
        if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
            raise RegistrationError(f"{where}: a generator cannot be served; return a list, or report progress")
        is_async = inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(type(function).__call__)
        return cls(function, declared.contexts, is_async)

    async def call(self, keywords: Mapping[str, Any], context: object, threads: Threads) -> Any:
        """Call the function and return what it returns.

        Raises `Overloaded`, and whatever the function raises. A function that tries to end the process only fails.
        """
        given = {**keywords, **dict.fromkeys(self.contexts, context)} if self.contexts else keywords
        try:
            if self.is_async:
                return await self.function(**given)
            value = await threads.run(self.function, **given)
            return await value if inspect.isawaitable(value) else value
        except SystemExit as exit_:
            raise RuntimeError("the function tried to end the process") from exit_
