"""`tools/list`, `prompts/list`, `resources/list` and `resources/templates/list`."""

from collections.abc import Mapping, Sequence
from typing import Any

from mcpfleet.protocol import jsontext
from mcpfleet.protocol.messages.prompts import ListPromptsResult
from mcpfleet.protocol.messages.resources import (
    ListResourcesResult,
    ListResourceTemplatesResult,
    Resource,
    ResourceTemplate,
)
from mcpfleet.protocol.messages.tools import ListToolsResult
from mcpfleet.protocol.wire import Result
from mcpfleet.server.catalog import fingerprint
from mcpfleet.server.context import Context
from mcpfleet.server.methods.desk import Desk
from mcpfleet.server.operation import Operation
from mcpfleet.server.outcome import Success


class Lists:
    """Lists what a server offers, in the order of registration, page by page."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    async def tools(self, params: Mapping[str, Any], context: Context) -> Success:
        """The tools that can be called now."""
        catalog = self._desk.registry.tools
        tools = [tool.definition for tool in catalog]
        page, cursor = self._desk.page("tools/list", tools, lambda: catalog.digest, params, context)
        return self._listed("tools/list", ListToolsResult(tools=page, next_cursor=cursor))

    async def prompts(self, params: Mapping[str, Any], context: Context) -> Success:
        """The prompts that can be filled in now."""
        catalog = self._desk.registry.prompts
        prompts = [prompt.definition for prompt in catalog]
        page, cursor = self._desk.page("prompts/list", prompts, lambda: catalog.digest, params, context)
        return self._listed("prompts/list", ListPromptsResult(prompts=page, next_cursor=cursor))

    async def resources(self, params: Mapping[str, Any], context: Context) -> Success:
        """The registered resources, then each skill's `SKILL.md`, then what the author's own functions list."""

        async def work() -> Result:
            known = {one.definition.uri: one.definition for one in self._desk.registry.resources}
            for skill in self._desk.registry.skills:
                known.setdefault(skill.definition.uri, skill.manifest.definition)
            for one in await self._found(context):
                if isinstance(one, Resource):
                    known.setdefault(one.uri, one)
            resources = list(known.values())
            page, cursor = self._desk.page("resources/list", resources, lambda: _digest(resources), params, context)
            return ListResourcesResult(resources=page, next_cursor=cursor)

        return await self._perform("resources/list", work, context)

    async def templates(self, params: Mapping[str, Any], context: Context) -> Success:
        """The registered templates, and after them those that the author's own functions list."""

        async def work() -> Result:
            known = {one.definition.uri_template: one.definition for one in self._desk.registry.templates}
            for one in await self._found(context):
                if isinstance(one, ResourceTemplate):
                    known.setdefault(one.uri_template, one)
            templates = list(known.values())
            page, cursor = self._desk.page(
                "resources/templates/list", templates, lambda: _digest(templates), params, context
            )
            return ListResourceTemplatesResult(resource_templates=page, next_cursor=cursor)

        return await self._perform("resources/templates/list", work, context)

    async def _found(self, context: Context) -> list[Resource | ResourceTemplate]:
        return [one for lister in self._desk.registry.listers for one in await lister.list(context, self._desk.threads)]

    async def _perform(self, method: str, work: Any, context: Context) -> Success:
        timeouts = [lister.timeout for lister in self._desk.registry.listers]
        bounded = [timeout for timeout in timeouts if timeout is not None]
        operation = Operation(
            method=method,
            target=method,
            arguments={},
            work=work,
            timeout=sum(bounded) if bounded and len(bounded) == len(timeouts) else None,
            cache=self._desk.server.cache_hint(method),
        )
        return await self._desk.perform(operation, context)

    def _listed(self, method: str, result: Result) -> Success:
        return Success(result, self._desk.server.cache_hint(method))


def _digest(items: Sequence[Resource | ResourceTemplate]) -> str:
    return fingerprint([jsontext.plain(item) for item in items])
