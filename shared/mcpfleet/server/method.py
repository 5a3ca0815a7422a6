"""A method of the author's own, beside the protocol's."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from mcpfleet.errors import OutputRefused, RegistrationError
from mcpfleet.protocol import methods
from mcpfleet.protocol.meta import META
from mcpfleet.server import signature
from mcpfleet.server.arguments import Arguments, Typed
from mcpfleet.server.callee import Callee
from mcpfleet.server.options import called, checked_seconds
from mcpfleet.server.shapes import to_json
from mcpfleet.server.threads import Threads

RESULT: Final = "result"
"""Where a result stands that is no object: in MCP every result is one."""


@dataclass(frozen=True, slots=True)
class CustomMethod:
    """A function that clients call by a JSON-RPC method of its own."""

    name: str
    timeout: float | None
    """Seconds that one call may take; None: no limit of its own."""
    callee: Callee
    arguments: Arguments

    def renamed(self, name: str) -> "CustomMethod":
        """The same method under another name."""
        return replace(self, name=checked_name(name))

    async def call(self, params: Mapping[str, Any], context: object, threads: Threads) -> Mapping[str, Any]:
        """Call the function with the params, `_meta` aside.

        Raises `ArgumentsRefused` before it is called, what `Callee.call` raises, and `OutputRefused` for what it
        returns.
        """
        given = {name: value for name, value in params.items() if name != META}
        value = await self.callee.call(self.arguments.read(given), context, threads)
        try:
            result = {} if value is None else to_json(value)
        except (TypeError, ValueError, RecursionError) as error:
            raise OutputRefused(f"the method returned what has no JSON form: {error}") from error
        return result if isinstance(result, dict) else {RESULT: result}


def compile_method(
    function: Callable[..., Any], name: str, *, timeout: float | None = None, context_type: type
) -> CustomMethod:
    """Make a method of a function, a class or an instance with `__call__`; `RegistrationError` for a name that is taken
    by the protocol, or cannot be sent."""
    where, function = f"method {checked_name(name)!r}", called(function)
    declared = signature.read(function, context_type, where)
    callee = Callee.of(function, declared, where)
    return CustomMethod(name, checked_seconds(timeout, where), callee, Typed(declared, where))


def checked_name(name: Any) -> str:
    """The name itself, if an author may take it; else `RegistrationError`."""
    if not isinstance(name, str) or not methods.is_name(name):
        raise RegistrationError(f"{str(name)[:140]!r} is no method name, such as acme/add")
    if methods.is_standard(name):
        raise RegistrationError(f"the method {name!r} belongs to the protocol")
    return name
