"""A notification of the author's own, beside the protocol's."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from mcpfleet.errors import RegistrationError
from mcpfleet.protocol import methods
from mcpfleet.protocol.meta import META
from mcpfleet.server import signature
from mcpfleet.server.arguments import Arguments, Typed
from mcpfleet.server.callee import Callee
from mcpfleet.server.options import checked_seconds
from mcpfleet.server.threads import Threads

HEED_SECONDS: Final = 60.0
"""How long it may take to heed a notification: nobody waits for it, so nobody would ever cancel it."""


@dataclass(frozen=True, slots=True)
class CustomNotification:
    """A function that clients call without waiting for it."""

    name: str
    timeout: float
    """Seconds that one call may take."""
    callee: Callee
    arguments: Arguments

    def renamed(self, name: str) -> "CustomNotification":
        """The same under another name."""
        return replace(self, name=_checked_name(name))

    async def call(self, params: Mapping[str, Any], context: object, threads: Threads) -> None:
        """Call the function with the params, `_meta` aside; raises `ArgumentsRefused`, and what the function raises."""
        given = {name: value for name, value in params.items() if name != META}
        await self.callee.returned(self.arguments.read(given), context, threads)


def compile_notification(
    function: Callable[..., Any], name: str, *, timeout: float | None = None, context_type: type
) -> CustomNotification:
    """Let a function heed a notification; `RegistrationError` for a name of the protocol's, or that cannot be sent."""
    where = f"notification {_checked_name(name)!r}"
    declared = signature.read(function, context_type, where)
    callee = Callee.of(function, declared, where)
    seconds = checked_seconds(timeout, where)
    return CustomNotification(name, HEED_SECONDS if seconds is None else seconds, callee, Typed(declared, where))


def _checked_name(name: Any) -> str:
    if not isinstance(name, str) or not methods.is_name(name):
        raise RegistrationError(f"{str(name)[:140]!r} is no name of a notification, such as acme/moved")
    if methods.is_standard_notification(name):
        raise RegistrationError(f"the notification {name!r} belongs to the protocol")
    return name
