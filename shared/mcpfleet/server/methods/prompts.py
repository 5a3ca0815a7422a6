"""`prompts/get`."""

from collections.abc import Mapping
from typing import Any

from mcpfleet.server.context import Context
from mcpfleet.server.methods.desk import Desk
from mcpfleet.server.methods.params import table, text
from mcpfleet.server.operation import Operation
from mcpfleet.server.outcome import Success


class Prompts:
    """Fills in prompts ("Prompts", section "Getting a Prompt")."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    async def get(self, params: Mapping[str, Any], context: Context) -> Success:
        """The messages of one prompt."""
        name = text(params, "name")
        prompt = self._desk.registry.prompts.get(name)
        if prompt is None:
            raise await self._desk.unknown("prompt", name)
        arguments = table(params, "arguments")
        operation = Operation(
            method="prompts/get",
            target=name,
            arguments=arguments,
            work=lambda: prompt.get(context, arguments, self._desk.threads),
            timeout=prompt.timeout,
        )
        return await self._desk.perform(operation, context)
