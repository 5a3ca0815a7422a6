"""Methods that an author has added."""

from collections.abc import Mapping
from typing import Any

from mcpfleet.server.context import Context
from mcpfleet.server.method import CustomMethod
from mcpfleet.server.methods.desk import Desk
from mcpfleet.server.operation import Operation
from mcpfleet.server.outcome import Success


class Custom:
    """Calls methods of the author's own, in either era."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    def find(self, name: str) -> CustomMethod | None:
        """The method of that name."""
        return self._desk.server.registry.methods.get(name)

    async def call(self, method: CustomMethod, params: Mapping[str, Any], context: Context) -> Success:
        """What one call returns; "_meta" is left to the context."""
        operation = Operation(
            method=method.name,
            target=method.name,
            arguments=params,
            work=lambda: method.call(params, context, self._desk.threads),
            timeout=method.timeout,
        )
        return await self._desk.perform(operation, context)
