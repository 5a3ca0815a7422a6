"""Suggestions for an argument, from a function of the author's."""

from collections.abc import Callable, Iterable, Mapping, Sequence, Sized
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, Final, Literal

from mcpfleet.errors import OutputRefused, RegistrationError
from mcpfleet.protocol.messages.completion import MAX_VALUES, Completion
from mcpfleet.server import signature
from mcpfleet.server.callee import Callee
from mcpfleet.server.options import called, checked_seconds
from mcpfleet.server.threads import Threads

Of = Literal["prompt", "resource"]

TAKEN: Final = ("value", "argument", "arguments")
"""What a function may take, by these names: what was typed so far, the argument's name, the arguments given already."""


@dataclass(frozen=True, slots=True)
class Completer:
    """A function that suggests values for one argument, or for every argument that has no other."""

    of: Of
    name: str
    """The prompt's name, or the text of the template."""
    argument: str | None
    """None: every argument that has no completer of its own."""
    callee: Callee
    takes: tuple[str, ...]
    timeout: float | None

    @property
    def key(self) -> tuple[Of, str, str | None]:
        """What it completes."""
        return (self.of, self.name, self.argument)

    def renamed(self, name: str) -> "Completer":
        """The same completer for a prompt or template of another name."""
        return replace(self, name=name)

    async def complete(
        self, argument: str, value: str, arguments: Mapping[str, str], context: object, threads: Threads
    ) -> Completion:
        """Call the function; `arguments` are those that have their values already.

        Raises what `Callee.call` raises, and `OutputRefused` for what it returns.
        """
        given = {"value": value, "argument": argument, "arguments": arguments}
        keywords = {name: given[name] for name in self.takes}
        return completion(await self.callee.call(keywords, context, threads))


def compile_completer(
    function: Callable[..., Any],
    of: Of,
    name: str,
    argument: str | None,
    *,
    timeout: float | None = None,
    context_type: type,
) -> Completer:
    """Make a completer of a function, a class or an instance with `__call__`; `RegistrationError` if it takes what
    nobody could give it."""
    where, function = f"completion of {of} {name!r}", called(function)
    declared = signature.read(function, context_type, where)
    for one in declared.parameters:
        if one.name not in TAKEN and one.required:
            raise RegistrationError(f"{where}: parameter {one.name!r} is none of {', '.join(TAKEN)}")
    takes = tuple(one.name for one in declared.parameters if one.name in TAKEN)
    callee = Callee.of(function, declared, where)
    return Completer(of, name, argument, callee, takes, checked_seconds(timeout, where))


def completion(value: Any) -> Completion:
    """What a function suggests, at most as many values as a result may hold; None is no suggestion."""
    if value is None:
        return Completion((), 0, False)
    if isinstance(value, Completion):
        values = tuple(value.values)
        more = (value.total or 0) > len(values) if value.has_more is None else value.has_more
        return _capped(values, value.total, more)
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise OutputRefused(f"the completion returned {type(value).__name__}, and no list of strings")
    total = len(value) if isinstance(value, Sized) else None
    values = tuple(islice(value, MAX_VALUES + 1))
    return _capped(values, len(values) if total is None and len(values) <= MAX_VALUES else total, False)


def matching(choices: Sequence[str], value: str) -> Completion:
    """Those of the choices that begin with what was typed, whatever its case."""
    typed = value.casefold()
    return completion([choice for choice in choices if choice.casefold().startswith(typed)])


def _capped(values: tuple[Any, ...], total: int | None, has_more: bool) -> Completion:
    if not all(isinstance(each, str) for each in values):
        raise OutputRefused("the completion returned a value that is no string")
    return Completion(values[:MAX_VALUES], total, has_more or len(values) > MAX_VALUES)
