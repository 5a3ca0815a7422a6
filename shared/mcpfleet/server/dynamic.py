"""Functions that list resources, and read URIs, which nobody registered one by one."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from mcpfleet.errors import OutputRefused, RegistrationError
from mcpfleet.protocol import uris
from mcpfleet.protocol.messages.resources import Resource, ResourceTemplate
from mcpfleet.protocol.wire import CacheHint
from mcpfleet.server import signature
from mcpfleet.server.callee import Callee
from mcpfleet.server.definitions import checked_mime_type
from mcpfleet.server.options import called, checked_cache, checked_seconds
from mcpfleet.server.readable import readable
from mcpfleet.server.resource import URI, Reading
from mcpfleet.server.signature import Signature
from mcpfleet.server.texts import Texts
from mcpfleet.server.threads import Threads


@dataclass(frozen=True, slots=True)
class Lister:
    """A function that tells which resources and templates there are, beside the registered ones."""

    callee: Callee
    timeout: float | None
    """Seconds that listing may take; None: no limit of its own."""

    async def list(self, context: object, threads: Threads) -> list[Resource | ResourceTemplate]:
        """Call the function; raises what `Callee.call` raises, and `OutputRefused` for what it returns."""
        value = await self.callee.call({}, context, threads)
        if not isinstance(value, list | tuple) or not all(
            isinstance(one, Resource | ResourceTemplate) for one in value
        ):
            raise OutputRefused("a list of resources is one of `Resource` and `ResourceTemplate`")
        found = [*map(readable, value)]
        for one in found:
            if isinstance(one, Resource) and not uris.is_uri(one.uri):
                raise OutputRefused(f"a list has the resource {one.uri[:128]!r}, which is no absolute URI")
        return found


def compile_lister(function: Callable[..., Any], *, timeout: float | None = None, context_type: type) -> Lister:
    """Make a lister of a function, a class or an instance; `RegistrationError` if it needs arguments."""
    where, function = "list of resources", called(function)
    declared = signature.read(function, context_type, where)
    _check(declared, (), where)
    return Lister(Callee.of(function, declared, where), checked_seconds(timeout, where))


def compile_reader(
    function: Callable[..., Any],
    *,
    mime_type: str | None = None,
    timeout: float | None = None,
    cache: CacheHint | None = None,
    context_type: type,
) -> Reading:
    """Make a reader of a function, a class or an instance that takes a `uri`; `RegistrationError` if it does not, or
    needs more."""
    where, function = "reader of resources", called(function)
    declared = signature.read(function, context_type, where)
    _check(declared, (URI,), where)
    callee = Callee.of(function, declared, where)
    nothing = replace(declared, parameters=(), open=False)
    return Reading(
        callee=callee,
        variables=Texts(nothing, where),
        takes_uri=True,
        mime_type=checked_mime_type(mime_type, where),
        timeout=checked_seconds(timeout, where),
        cache=checked_cache(cache, where),
    )


def _check(declared: Signature, taken: tuple[str, ...], where: str) -> None:
    names = {one.name for one in declared.parameters}
    for name in taken:
        if name not in names:
            raise RegistrationError(f"{where}: the function must take `{name}`")
    for one in declared.parameters:
        if one.name not in taken and one.required:
            raise RegistrationError(f"{where}: nobody can give parameter {one.name!r}")
