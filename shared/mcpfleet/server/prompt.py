"""A prompt, compiled once."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Unpack

import msgspec

from mcpfleet.errors import OutputRefused, RegistrationError
from mcpfleet.protocol.messages import prompts as messages
from mcpfleet.protocol.messages.prompts import GetPromptResult, PromptArgument, PromptMessage
from mcpfleet.server import signature
from mcpfleet.server.callee import Callee
from mcpfleet.server.definitions import checked_definition
from mcpfleet.server.options import PromptOptions, checked_name, checked_seconds, opened
from mcpfleet.server.outputs import BLOCKS
from mcpfleet.server.readable import readable
from mcpfleet.server.signature import Signature
from mcpfleet.server.texts import Texts
from mcpfleet.server.threads import Threads


@dataclass(frozen=True, slots=True)
class Prompt:
    """A function whose result begins a conversation, and what clients are told of it."""

    definition: messages.Prompt
    timeout: float | None
    """Seconds that one call may take; None: no limit of its own."""
    callee: Callee
    arguments: Texts

    @property
    def name(self) -> str:
        """Its name, unique among the prompts of a server."""
        return self.definition.name

    def renamed(self, name: str) -> "Prompt":
        """The same prompt under another name."""
        return replace(self, definition=msgspec.structs.replace(self.definition, name=checked_name(name, "prompt")))

    def takes(self, argument: str) -> bool:
        """Whether clients are told of an argument of that name."""
        return any(one.name == argument for one in self.definition.arguments or ())

    async def get(self, context: object, arguments: Mapping[str, Any], threads: Threads) -> GetPromptResult:
        """Call the function.

        Raises `ArgumentsRefused` before it is called, what `Callee.call` raises, and `OutputRefused` for what it
        returns.
        """
        value = await self.callee.call(self.arguments.read(arguments), context, threads)
        if isinstance(value, GetPromptResult):
            return readable(value)
        several = value if isinstance(value, list | tuple) else (value,)
        return GetPromptResult(messages=tuple(map(_message, several)), description=self.definition.description)


def compile_prompt(prompt: Any, *, context_type: type, **given: Unpack[PromptOptions]) -> Prompt:
    """Make a prompt of a function, a class or an instance with `__call__`; options say what they do not.

    Parameters annotated `context_type` receive the request's context. Raises `RegistrationError` for anything that
    could not be served.
    """
    function, options = opened(prompt, given, PromptOptions)
    name = checked_name(options["name"], "prompt")
    where = f"prompt {name!r}"
    declared = signature.read(function, context_type, where)
    callee = Callee.of(function, declared, where)
    icons = options.get("icons")
    definition = messages.Prompt(
        name=name,
        title=options.get("title"),
        description=options.get("description", declared.description),
        arguments=_arguments(options.get("arguments"), declared, where),
        icons=None if icons is None else tuple(icons),
        meta=options.get("meta"),
    )
    return Prompt(
        definition=checked_definition(definition, where),
        timeout=checked_seconds(options.get("timeout"), where),
        callee=callee,
        arguments=Texts(declared, where, [one.name for one in definition.arguments or () if one.required]),
    )


def _arguments(
    said: Sequence[PromptArgument] | None, declared: Signature, where: str
) -> tuple[PromptArgument, ...] | None:
    if said is None:
        if declared.open:
            raise RegistrationError(f"{where}: **kwargs need `arguments` that tell of them")
        said = [
            PromptArgument(one.name, description=one.description, required=one.required) for one in declared.parameters
        ]
    else:
        _match(said, declared, where)
    return tuple(said) or None


def _match(said: Sequence[PromptArgument], declared: Signature, where: str) -> None:
    """Refuse arguments and a function that cannot fit together, before any call finds out."""
    parameters = {one.name: one for one in declared.parameters}
    told = {one.name: one for one in said}
    for one in parameters.values():
        if one.required and not (one.name in told and told[one.name].required):
            raise RegistrationError(f"{where}: parameter {one.name!r} has no default, so `arguments` must require it")
    for name in told:
        if name not in parameters and not declared.open:
            raise RegistrationError(f"{where}: `arguments` has {name!r}, but no parameter takes it")
        if name in declared.filled:
            raise RegistrationError(f"{where}: `arguments` has {name!r}, which the server fills")


def _message(value: Any) -> PromptMessage:
    if isinstance(value, PromptMessage):
        return readable(value)
    if isinstance(value, str):
        return PromptMessage.user(str.__str__(value))
    if isinstance(value, BLOCKS):
        return PromptMessage("user", readable(value))
    raise OutputRefused(f"the prompt returned {type(value).__name__} for a message")
