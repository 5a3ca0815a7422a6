"""`resources/read`."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

import msgspec

from mcpfleet.errors import ProtocolError, ResourceNotFound
from mcpfleet.protocol import uris
from mcpfleet.protocol.jsonrpc import INVALID_PARAMS
from mcpfleet.protocol.messages.resources import ReadResourceResult
from mcpfleet.protocol.wire import CacheHint
from mcpfleet.server.context import Context
from mcpfleet.server.methods.desk import Desk
from mcpfleet.server.methods.params import text
from mcpfleet.server.operation import Operation
from mcpfleet.server.outcome import Success
from mcpfleet.server.resource import Reading

_ANSWERS: Final = frozenset({"inputResponses", "requestState"})
"""What a request has that goes on with an earlier one."""


class Resources:
    """Reads resources ("Resources", section "Reading Resources")."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    async def read(self, params: Mapping[str, Any], context: Context) -> Success:
        """What is at one URI.

        It is what the exact resource says, else the file of a skill, else what the first template that matches says, or
        else any reader.
        """
        uri = text(params, "uri")
        if not uris.is_uri(uri):
            raise ProtocolError(INVALID_PARAMS, "params.uri must be an absolute URI", {"uri": uri})
        success = await self._found(uri, context)
        return success if _ANSWERS.isdisjoint(params) else _not_to_be_kept(success)

    async def _found(self, uri: str, context: Context) -> Success:
        exact = self._desk.registry.resources.get(uri)
        if exact is not None:
            return await self._read(exact.reading, uri, {}, context)
        if (file := self._desk.registry.skill_file(uri)) is not None:
            return Success(
                ReadResourceResult(contents=(file.contents,)), self._desk.server.cache_hint("resources/read")
            )
        if uris.has_dot_segments(uri):  # whatever a function makes of it could lead out of what is served
            raise ResourceNotFound(uri)
        for one in self._desk.registry.templates:
            values = one.template.match(uri)
            if values is not None:
                return await self._read(one.reading, uri, values, context)
        for reader in self._desk.registry.readers:
            try:
                return await self._read(reader, uri, {}, context)
            except ResourceNotFound:
                continue
        raise ResourceNotFound(uri)

    async def _read(self, reading: Reading, uri: str, values: Mapping[str, str], context: Context) -> Success:
        operation = Operation(
            method="resources/read",
            target=uri,
            arguments={},
            work=lambda: reading.read(uri, values, context, self._desk.threads),
            timeout=reading.timeout,
            cache=reading.cache or self._desk.server.cache_hint("resources/read"),
        )
        return await self._desk.perform(operation, context)


def _not_to_be_kept(success: Success) -> Success:
    """A result that depends on what its client was asked, which no cache knows ("Caching", section "Cache Key")."""
    result = success.result
    if isinstance(result, ReadResourceResult):
        result = msgspec.structs.replace(result, ttl_ms=None, cache_scope=None)
    return replace(success, result=result, cache=CacheHint())
