"""From a method's name to its outcome."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from mcpfleet.errors import MissingCapability, ProtocolError, ToolError
from mcpfleet.protocol.jsonrpc import HEADER_MISMATCH, INTERNAL_ERROR, METHOD_NOT_FOUND, Request
from mcpfleet.protocol.revisions import Era, Revision
from mcpfleet.protocol.tasks import EXTENSION
from mcpfleet.server.around import Around
from mcpfleet.server.boundary import CALL_TOOL, StoreAway
from mcpfleet.server.callee import InputRequired
from mcpfleet.server.caller import Caller
from mcpfleet.server.capabilities import FEATURES, offers
from mcpfleet.server.context import Context
from mcpfleet.server.incoming import Incoming
from mcpfleet.server.methods.completion import Completions
from mcpfleet.server.methods.custom import Custom
from mcpfleet.server.methods.desk import Desk
from mcpfleet.server.methods.lists import Lists
from mcpfleet.server.methods.params import table, text
from mcpfleet.server.methods.prompts import Prompts
from mcpfleet.server.methods.resources import Resources
from mcpfleet.server.methods.skills import Skills
from mcpfleet.server.methods.tasks import TaskMethods
from mcpfleet.server.operation import Operation
from mcpfleet.server.outcome import Outcome, Success
from mcpfleet.server.outlet import Outlet
from mcpfleet.server.places import Places
from mcpfleet.server.server import Server
from mcpfleet.server.switches import Switches
from mcpfleet.server.tasks.store import Tasks
from mcpfleet.server.threads import Threads
from mcpfleet.server.tool import Tool
from mcpfleet.server.versions import Elsewhere, nowhere

Handler = Callable[[Mapping[str, Any], Context], Awaitable[Success]]

LISTS: Final = frozenset({"tools/list", "prompts/list", "resources/list", "resources/templates/list"})
BOTH: Final = frozenset(Era)
LEGACY: Final = frozenset({Era.LEGACY})
MODERN: Final = frozenset({Era.MODERN})


@dataclass(frozen=True, slots=True)
class Method:
    """How one method is served, and in which eras."""

    handler: Handler
    eras: frozenset[Era] = BOTH


class Dispatcher:
    """Serves requests by method name; raises nothing but cancellation."""

    def __init__(
        self,
        server: Server,
        threads: Threads,
        *,
        page_size: int | None = None,
        pin: Revision | None = None,
        switches: Switches | None = None,
        around: Around | None = None,
        elsewhere: Elsewhere = nowhere,
        tasks: Tasks | None = None,
    ) -> None:
        """`page_size` is how many items a page of a list has; None: all of them. Without `tasks` there are none."""
        self._server = server
        self._threads = threads
        self._around = around or Around(server, threads)
        self._switches = switches
        self._pin = pin
        self._has_tasks = tasks is not None
        self._desk = desk = Desk(server, threads, self.perform, page_size, switches, elsewhere)
        self._custom = Custom(desk)
        self._places: dict[tuple[str, str], Places] = {}
        lists, resources, skills = Lists(desk), Resources(desk), Skills(desk)
        self._methods: dict[str, Method] = {
            "completion/complete": Method(Completions(desk).complete),
            "ping": Method(self._ping, eras=LEGACY),
            "prompts/get": Method(Prompts(desk).get),
            "prompts/list": Method(lists.prompts),
            "resources/directory/read": Method(skills.directory),
            "resources/list": Method(lists.resources),
            "resources/read": Method(resources.read),
            "resources/templates/list": Method(lists.templates),
            "server/discover": Method(self._discover, eras=MODERN),
            "skills/get": Method(skills.get),
            "skills/list": Method(skills.list),
            CALL_TOOL: Method(self._call_tool),
            "tools/list": Method(lists.tools),
        }
        if tasks is not None:
            methods = TaskMethods(tasks)
            self._methods["tasks/cancel"] = Method(methods.cancel, eras=MODERN)
            self._methods["tasks/get"] = Method(methods.get, eras=MODERN)
            self._methods["tasks/update"] = Method(methods.update, eras=MODERN)

    async def serve(self, request: Request, caller: Caller, outlet: Outlet) -> Outcome:
        """Serve one request to its outcome; what the peer may not read is logged under a correlation id."""
        context = self._around.context(caller, outlet)
        try:
            if not self._around.of(request.method):
                return await self._served(request, request.params, context)
            message = Incoming.of(request, caller)
            return await self._around.request(message, context, lambda params: self._served(request, params, context))
        except BaseException as error:  # noqa: BLE001  # the boundary: it becomes an outcome there, or is raised again
            return self._around.outcome(error, Incoming.of(request, caller), context)
        finally:
            context.close()

    async def _served(self, request: Request, params: Mapping[str, Any], context: Context) -> Success:
        """Serve a request with these params, which hooks may have changed."""
        method = self._methods.get(request.method)
        if method is None and (custom := self._custom.find(request.method)) is not None:
            return await self._custom.call(custom, params, context)
        if method is None or context.era not in method.eras or not self._offers(request.method):
            raise ProtocolError(METHOD_NOT_FOUND, f"Method not found: {request.method[:128]}")
        if self._switches is not None and not await self._switches.ready(fresh=request.method in LISTS):
            raise StoreAway
        if request.method == CALL_TOOL and context.era is Era.MODERN and context.task_id is None:
            self._check_headers(request.params, context)
        return await method.handler(params, context)

    async def perform(self, operation: Operation, context: Context) -> Success:
        """Make the call, in its turn and within its time: all that authors wrote is called here, whatever it is."""
        if operation.limit is None:
            return await self._within_time(operation, context)
        key = (operation.method, operation.target)
        places = self._places.get(key) or self._places.setdefault(key, Places(operation.limit))
        async with places.taken():
            return await self._within_time(operation, context)

    async def _within_time(self, operation: Operation, context: Context) -> Success:
        deadline = asyncio.timeout(operation.timeout)
        try:
            async with deadline:
                result = await operation.work()
        except InputRequired as asked:
            return Success({}, input_required=asked.wanted)
        except TimeoutError:
            if not deadline.expired():
                raise
            context.cancel()
            raise ToolError(f"The call did not finish within {operation.timeout:g} seconds.") from None
        return Success(result, operation.cache, operation.output_schema)

    async def _call_tool(self, params: Mapping[str, Any], context: Context) -> Success:
        name = text(params, "name")
        tool = self._desk.registry.tools.get(name)
        if tool is None:
            raise await self._desk.unknown("tool", name)
        arguments = table(params, "arguments")
        if tool.task:
            await self._as_task(tool, arguments, context)
        operation = Operation(
            method=CALL_TOOL,
            target=tool.name,
            arguments=arguments,
            work=lambda: tool.call(context, arguments, self._threads),
            timeout=tool.timeout,
            limit=tool.limit,
            output_schema=tool.definition.output_schema,
        )
        return await self.perform(operation, context)

    async def _as_task(self, tool: Tool, arguments: Mapping[str, Any], context: Context) -> None:
        """Return if a call of a tool that may become a task is to be served here and now."""
        if tool.task.support == "required":
            self._demand_tasks(context)
        if not self._has_tasks:
            return
        context.may_detach(tool)
        if tool.task.detach and context.takes_tasks:
            tool.arguments.read(arguments)  # what is wrong with them is told at once
            await context.detach()

    def _demand_tasks(self, context: Context) -> None:
        if not context.takes_tasks:
            raise MissingCapability({"extensions": EXTENSION})
        if not self._has_tasks:
            raise ProtocolError(INTERNAL_ERROR, "This server runs no tasks.", {"reason": "no_tasks"})

    def _check_headers(self, params: Mapping[str, Any], context: Context) -> None:
        """Compare the headers that repeat arguments with the arguments that the client has sent."""
        name = params.get("name")
        tool = self._desk.registry.tools.get(name) if isinstance(name, str) else None
        if tool is not None and (complaint := tool.header_complaint(table(params, "arguments"), context.headers)):
            raise ProtocolError(HEADER_MISMATCH, complaint)

    async def _ping(self, _params: Mapping[str, Any], _context: Context) -> Success:
        return Success({})

    async def _discover(self, _params: Mapping[str, Any], _context: Context) -> Success:
        discovery = self._server.discovery(self._pin, tasks=self._has_tasks)
        return Success(discovery, self._server.cache_hint("server/discover"))

    def _offers(self, method: str) -> bool:
        feature = FEATURES.get(method)
        return feature is None or offers(self._server.registry, feature)
