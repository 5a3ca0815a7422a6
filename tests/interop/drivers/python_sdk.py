"""Drives the client of the official Python SDK, in either era; tests/interop/driver.py describes the lines."""

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable
from typing import Any

from mcp import Client, StdioServerParameters
from mcp.client import ClientRequestContext, advertise
from mcp.client.sse import sse_client
from mcp.client.subscriptions import Subscription, SubscriptionLost
from mcp.shared.exceptions import MCPError
from mcp_types import (
    CreateMessageRequestParams,
    CreateMessageResult,
    CreateMessageResultWithTools,
    ElicitRequestParams,
    ElicitResult,
    ErrorData,
    ListRootsResult,
    PromptReference,
    Request,
    RequestParams,
    ResourceTemplateReference,
    Result,
    SamplingCapability,
    SamplingContextCapability,
    SamplingToolsCapability,
    ServerNotification,
)
from pydantic import BaseModel, ConfigDict

Json = dict[str, Any]

questions: dict[str, asyncio.Future[Json]] = {}


def say(line: Json) -> None:
    print(json.dumps(line), flush=True)


def plain(value: BaseModel) -> Json:
    """As it was on the wire."""
    return value.model_dump(mode="json", by_alias=True, exclude_unset=True)


class Connection:
    """One client, which lives in a task of its own until it is told to end."""

    def __init__(self, name: str, given: Json) -> None:
        self.name = name
        self.client: Client
        self.ready = asyncio.Event()
        self.leaving = asyncio.Event()
        self.listening: asyncio.Task[None] | None = None
        self.life = asyncio.create_task(self._live(given))

    async def _live(self, given: Json) -> None:
        can, extensions = given["can"], given["extensions"] or {}
        async with Client(
            target(given["server"]),
            mode="auto" if given["era"] == "modern" else "legacy",
            elicitation_callback=self._elicit if "elicitation" in can else None,
            sampling_callback=self._sample if "sampling" in can else None,
            sampling_capabilities=SamplingCapability(
                tools=SamplingToolsCapability(), context=SamplingContextCapability()
            ),
            list_roots_callback=self._roots if "roots" in can else None,
            message_handler=self._heard,
            extensions=[advertise(name, settings) for name, settings in extensions.items()],
        ) as self.client:
            self.ready.set()
            await self.leaving.wait()

    async def connect(self) -> Json:
        """Return what the client knows of its server, once it is connected."""
        ready = asyncio.create_task(self.ready.wait())
        await asyncio.wait({ready, self.life}, return_when=asyncio.FIRST_COMPLETED)
        if not ready.done():
            ready.cancel()
            await self.life
        client = self.client
        return {
            "server": plain(client.server_info) if client.server_info else None,
            "capabilities": plain(client.server_capabilities),
            "instructions": client.instructions,
        }

    def tell(self, method: str, params: Json) -> None:
        say({"client": self.name, "method": method, "params": params})

    async def _heard(self, message: ServerNotification | Exception) -> None:
        if not isinstance(message, Exception):
            line = plain(message)
            self.tell(line["method"], line.get("params", {}))

    async def _ask(self, method: str, params: Json) -> Json | ErrorData:
        question = f"{self.name}/{len(questions)}"
        questions[question] = asyncio.get_running_loop().create_future()
        say({"client": self.name, "question": question, "method": method, "params": params})
        answer = await questions[question]
        return ErrorData(**answer["error"]) if "error" in answer else answer["result"]

    async def _elicit(self, context: ClientRequestContext, params: ElicitRequestParams) -> ElicitResult | ErrorData:
        answer = await self._ask("elicitation/create", plain(params))
        return answer if isinstance(answer, ErrorData) else ElicitResult.model_validate(answer)

    async def _sample(
        self, context: ClientRequestContext, params: CreateMessageRequestParams
    ) -> CreateMessageResult | CreateMessageResultWithTools | ErrorData:
        answer = await self._ask("sampling/createMessage", plain(params))
        if isinstance(answer, ErrorData):
            return answer
        kind = CreateMessageResultWithTools if params.tools else CreateMessageResult
        return kind.model_validate(answer)

    async def _roots(self, context: ClientRequestContext) -> ListRootsResult | ErrorData:
        answer = await self._ask("roots/list", {})
        return answer if isinstance(answer, ErrorData) else ListRootsResult.model_validate(answer)

    async def close(self) -> None:
        self.leaving.set()
        await self.life

    async def notify(self, method: str, params: Json) -> None:
        assert method == "notifications/roots/list_changed"
        await self.client.send_roots_list_changed()

    async def listen(self, filter: Json) -> Json:  # noqa: A002 - the protocol's word
        opened: asyncio.Future[Subscription] = asyncio.get_running_loop().create_future()
        self.listening = asyncio.create_task(self._follow(filter, opened))
        return plain((await opened).honored)

    async def _follow(self, wanted: Json, opened: "asyncio.Future[Subscription]") -> None:
        why = "local"
        try:
            async with self.client.listen(
                tools_list_changed=wanted.get("toolsListChanged", False),
                prompts_list_changed=wanted.get("promptsListChanged", False),
                resources_list_changed=wanted.get("resourcesListChanged", False),
                resource_subscriptions=wanted.get("resourceSubscriptions", ()),
            ) as subscription:
                opened.set_result(subscription)
                async for _ in subscription:
                    pass  # each is told to the message handler as well
                why = "graceful"
        except SubscriptionLost:
            why = "remote"
        except MCPError as refused:
            opened.set_exception(refused)
        finally:
            self.tell("test/closed", {"why": why})

    async def unlisten(self) -> None:
        assert self.listening is not None
        self.listening.cancel()

    async def request(
        self, method: str, params: Json, timeout: int | None, manual: bool, tell: Callable[[Json], None]
    ) -> Any:
        """What the client's own function for the method returns."""

        async def told(progress: float, total: float | None, message: str | None) -> None:
            known = {"progress": progress, "total": total, "message": message}
            tell({name: value for name, value in known.items() if value is not None})

        if method == "tools/call" and not manual:
            name, arguments, meta = params["name"], params.get("arguments"), params.get("_meta")
            return await self.client.call_tool(name, arguments, timeout and timeout / 1000, told, meta=meta)
        return await CALLS.get(method, custom(method))(self.client, params)


Call = Callable[[Client, Json], Awaitable[Any]]

CALLS: dict[str, Call] = {
    "tools/list": lambda client, params: client.list_tools(**params),
    "tools/call": lambda client, params: client.session.call_tool(
        params["name"],
        params.get("arguments"),
        input_responses=params.get("inputResponses"),
        request_state=params.get("requestState"),
        allow_input_required=True,
    ),
    "prompts/list": lambda client, params: client.list_prompts(**params),
    "prompts/get": lambda client, params: client.get_prompt(**params),
    "resources/list": lambda client, params: client.list_resources(**params),
    "resources/templates/list": lambda client, params: client.list_resource_templates(**params),
    "resources/read": lambda client, params: client.read_resource(**params),
    "resources/subscribe": lambda client, params: client.subscribe_resource(**params),
    "resources/unsubscribe": lambda client, params: client.unsubscribe_resource(**params),
    "completion/complete": lambda client, params: client.complete(
        REFERENCES[params["ref"]["type"]](params["ref"]),
        params["argument"],
        params.get("context", {}).get("arguments"),
    ),
    "logging/setLevel": lambda client, params: client.set_logging_level(**params),
    "ping": lambda client, params: client.send_ping(),
    "server/discover": lambda client, params: client.session.discover(),
}
"""How a client's own functions are called, by method."""

REFERENCES: dict[str, Callable[[Json], Any]] = {
    "ref/prompt": PromptReference.model_validate,
    "ref/resource": ResourceTemplateReference.model_validate,
}


class AnyParams(RequestParams):
    """Parameters of which the client knows nothing."""

    model_config = ConfigDict(extra="allow")


class AnyResult(Result):
    """A result of which the client knows nothing."""

    model_config = ConfigDict(extra="allow")


def custom(method: str) -> Call:
    """How a method is called for which the client has no function."""

    def call(client: Client, params: Json) -> Awaitable[Any]:
        request = Request[AnyParams, str](method=method, params=AnyParams.model_validate(params))
        return client.session.send_request(request, AnyResult)

    return call


def target(server: Json) -> Any:
    """What a client connects to."""
    match server.pop("kind"):
        case "http":
            return server["url"]
        case "sse":
            return sse_client(server["url"])
        case "stdio":
            return StdioServerParameters(**server)


async def perform(connections: dict[str, Connection], line: Json) -> Any:
    verb, name = line.pop("verb"), line.pop("client")
    number = line.pop("id")
    if verb == "connect":
        connections[name] = Connection(name, line)
        return await connections[name].connect()
    if verb == "request":
        return await connections[name].request(
            line["method"],
            line["params"],
            line["timeout"],
            line["manual"],
            lambda told: say({"of": number, "progress": told}),
        )
    return await getattr(connections[name], verb)(**line)


async def answer(work: Awaitable[Any], number: int) -> None:
    try:
        result = await work
        say({"id": number, "result": plain(result) if isinstance(result, BaseModel) else result or {}})
    except MCPError as error:
        say({"id": number, "error": error.error.model_dump()})
    except asyncio.CancelledError:
        say({"id": number, "error": {"code": "AbortError", "message": "given up", "data": None}})
    except Exception as error:  # noqa: BLE001  # whatever the client raises is for the test to judge
        say({"id": number, "error": {"code": type(error).__name__, "message": str(error), "data": None}})


async def main() -> None:
    """Do what the lines of standard input say, until it ends."""
    connections: dict[str, Connection] = {}
    running: dict[int, asyncio.Task[None]] = {}
    while text := await asyncio.to_thread(sys.stdin.readline):
        line = json.loads(text)
        if "question" in line:
            questions[line["question"]].set_result(line)
        elif "cancel" in line:
            running[line["cancel"]].cancel()
        else:
            number = line["id"]
            running[number] = asyncio.create_task(answer(perform(connections, line), number))


if __name__ == "__main__":
    asyncio.run(main())
