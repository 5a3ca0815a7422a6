"""Functions of the author's own around every message, or around those for one method or one thing."""

from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Final

from mcpfleet.errors import RegistrationError
from mcpfleet.server import signature
from mcpfleet.server.callee import Callee
from mcpfleet.server.incoming import Incoming
from mcpfleet.server.registry import Registry
from mcpfleet.server.scope import Scope
from mcpfleet.server.threads import Threads

CallNext = Callable[[Incoming], Awaitable[Any]]
"""Serves a message, by the next hook or at last by what it is for: returns its result, or raises what went wrong."""

_WHERE: Final = "around_request"


@dataclass(frozen=True, slots=True)
class Hook:
    """One function, and which messages it is around."""

    callee: Callee
    parameters: tuple[str, str]
    """What the function calls the message and `call_next`."""
    method: str | None = None
    """None: whatever the method."""
    target: str | None = None
    """None: whatever the target."""
    scope: Scope | None = None
    """None: whatever server it has come from."""

    def covers(self, message: Incoming, registry: Registry) -> bool:
        """Whether a message of its method is one of those that it is around, among all that is registered."""
        if self.target is not None and message.target != self.target:
            return False
        return self.scope is None or self.scope.covers(message, registry)

    def included(self, registry: Registry, prefix: str) -> "Hook":
        """The same around what comes from its server into another one, each name after the prefix."""
        known = self.scope or Scope.of(registry)
        method, target = self.method, self.target
        if method in known.methods:
            method = f"{prefix}{method}"
        if target in known.tools | known.prompts:
            target = f"{prefix}{target}"
        return replace(self, method=method, target=target, scope=known.prefixed(prefix))

    async def around(self, message: Incoming, call_next: CallNext, context: object, threads: Threads) -> Any:
        """Call the function around one message; what it returns, or raises, is what becomes of the message."""
        keywords = dict(zip(self.parameters, (message, call_next), strict=True))
        return await self.callee.returned(keywords, context, threads)


class Hooks:
    """The hooks of one server, outermost first."""

    def __init__(self) -> None:
        self._hooks: list[Hook] = []
        self._sealed = False

    def add(self, *hooks: Hook) -> None:
        """Register hooks inside those that there are; `RegistrationError` once the server is served."""
        if hooks:
            self.check_open()
        self._hooks += hooks

    def check_open(self) -> None:
        """Raise `RegistrationError` if there can be no further hook."""
        if self._sealed:
            raise RegistrationError(f"{_WHERE}: hooks are registered before their server is served")

    def seal(self) -> None:
        """Let there be no further hook: those that there are have been composed."""
        self._sealed = True

    def __iter__(self) -> Iterator[Hook]:
        return iter(self._hooks)


def compile_hook(
    function: Callable[..., Any], method: str | None = None, target: str | None = None, *, context_type: type
) -> Hook:
    """Make a hook of a coroutine function that takes a message and `call_next`; else `RegistrationError`.

    It may take a context, and what `Depends` provides, beside these two.
    """
    if target is not None and method is None:
        raise RegistrationError(f"{_WHERE}: a target is one of a method, so name that too")
    if not callable(function):
        raise RegistrationError(f"{_WHERE}: {function!r} is no function")
    declared = signature.read(function, context_type, _WHERE)
    callee = Callee.of(function, declared, _WHERE)
    if not callee.is_async:
        raise RegistrationError(f"{_WHERE}: a hook awaits what it is around, so it must be an `async def`")
    names = [one.name for one in declared.parameters if one.required]
    if len(names) != 2:
        raise RegistrationError(f"{_WHERE}: a hook takes two arguments, the message and `call_next`, not {len(names)}")
    return Hook(callee, (names[0], names[1]), method, target)
