"""`completion/complete`."""

from collections.abc import Mapping
from typing import Any

from mcpfleet.errors import ProtocolError
from mcpfleet.protocol.jsonrpc import INVALID_PARAMS
from mcpfleet.protocol.messages.completion import CompleteResult
from mcpfleet.server.completion import Of, matching
from mcpfleet.server.context import Context
from mcpfleet.server.methods.desk import Desk
from mcpfleet.server.methods.params import table, text, texts
from mcpfleet.server.operation import Operation
from mcpfleet.server.outcome import Success
from mcpfleet.server.texts import Texts


class Completions:
    """Suggests values for arguments ("Completion")."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    async def complete(self, params: Mapping[str, Any], context: Context) -> Success:
        """What could stand for one argument of a prompt or template."""
        ref, asked = table(params, "ref"), table(params, "argument")
        argument, value = text(asked, "name", "params.argument"), text(asked, "value", "params.argument")
        of, name, taken = self._referred(ref)
        if not self._takes(of, name, argument):
            raise ProtocolError(INVALID_PARAMS, f"Unknown argument: {argument[:128]}")
        given = texts(table(params, "context"), "arguments", "params.context")
        completer = self._desk.registry.completer(of, name, argument)
        if completer is None:
            return Success(CompleteResult(completion=matching(taken.choices(argument), value)))

        async def work() -> CompleteResult:
            threads = self._desk.threads
            return CompleteResult(completion=await completer.complete(argument, value, given, context, threads))

        operation = Operation(
            method="completion/complete",
            target=name,
            arguments={argument: value},
            work=work,
            timeout=completer.timeout,
        )
        return await self._desk.perform(operation, context)

    def _referred(self, ref: Mapping[str, Any]) -> tuple[Of, str, Texts]:
        """What a reference means; `ProtocolError` if it means nothing here."""
        kind = ref.get("type")
        if kind == "ref/prompt":
            name = text(ref, "name", "params.ref")
            prompt = self._desk.registry.prompts.get(name)
            if prompt is not None:
                return "prompt", name, prompt.arguments
        elif kind == "ref/resource":
            name = text(ref, "uri", "params.ref")
            template = self._desk.registry.template(name)
            if template is not None:
                return "resource", template.template.text, template.reading.variables
        else:
            raise ProtocolError(INVALID_PARAMS, "params.ref.type must be ref/prompt or ref/resource")
        raise ProtocolError(INVALID_PARAMS, f"Unknown reference: {name[:128]}")

    def _takes(self, of: Of, name: str, argument: str) -> bool:
        if of == "prompt":
            prompt = self._desk.registry.prompts.get(name)
            return prompt is not None and prompt.takes(argument)
        template = self._desk.registry.template(name)
        return template is not None and argument in template.template.variables
