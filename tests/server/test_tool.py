import asyncio
import functools
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import msgspec
import pytest

from mcpfleet.errors import ArgumentsRefused, OutputRefused, Overloaded, RegistrationError, ToolError
from mcpfleet.protocol.headers import Headers
from mcpfleet.protocol.messages.content import Icon, TextContent
from mcpfleet.protocol.messages.tools import CallToolResult, ToolAnnotations
from mcpfleet.server.threads import Threads
from mcpfleet.server.tool import Tool, compile_tool


@dataclass
class Context:
    user: str


class Forecast(msgspec.Struct):
    city: str
    days: int


CONTEXT = Context("ann")


def compiled(function: Any, **options: Any) -> Tool:
    return compile_tool(function, context_type=Context, **options)


async def called(tool: Tool, arguments: dict[str, Any] | None = None) -> CallToolResult:
    return await tool.call(CONTEXT, arguments or {}, Threads())


def listed(tool: Tool) -> Any:
    return json.loads(msgspec.json.encode(tool.definition))


async def forecast(city: str, days: int = 3, units: Literal["c", "f"] = "c") -> Forecast:
    """Forecast the weather of a city."""
    return Forecast(f"{city}/{units}", days)


def test_everything_is_read_from_the_function() -> None:
    tool = compiled(forecast)
    assert tool.name == "forecast"
    assert tool.timeout is None
    assert listed(tool) == {
        "name": "forecast",
        "description": "Forecast the weather of a city.",
        "inputSchema": {
            "type": "object",
            "properties": {
                "city": {"type": "string"},
                "days": {"type": "integer", "default": 3},
                "units": {"type": "string", "enum": ["c", "f"], "default": "c"},
            },
            "required": ["city"],
        },
        "outputSchema": {
            "title": "Forecast",
            "type": "object",
            "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
            "required": ["city", "days"],
        },
    }


def test_options_go_before_what_the_function_says() -> None:
    tool = compiled(
        forecast,
        name="acme.forecast-2",
        title="Forecast",
        description="Other words.",
        annotations=ToolAnnotations(read_only_hint=True),
        input_schema={"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
        output_schema={"type": "object"},
        meta={"a": 1},
        icons=[Icon(src="https://example.com/icon.png")],
        timeout=2.5,
    )
    assert tool.timeout == 2.5
    assert listed(tool) == {
        "name": "acme.forecast-2",
        "title": "Forecast",
        "description": "Other words.",
        "inputSchema": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
        "outputSchema": {"type": "object"},
        "annotations": {"readOnlyHint": True},
        "icons": [{"src": "https://example.com/icon.png"}],
        "_meta": {"a": 1},
    }


def test_an_option_that_is_none_is_not_given() -> None:
    assert listed(compiled(forecast, name=None, description=None, input_schema=None)) == listed(compiled(forecast))


async def test_a_call_converts_its_arguments_and_structures_its_result() -> None:
    assert await called(compiled(forecast), {"city": "Rome", "days": 2.0, "units": None}) == CallToolResult(
        content=(TextContent('{"city":"Rome/c","days":2}'),), structured_content={"city": "Rome/c", "days": 2}
    )


async def test_arguments_are_refused_before_the_function_is_called() -> None:
    calls = []

    async def record(a: int) -> None:
        calls.append(a)

    with pytest.raises(ArgumentsRefused, match="a: Expected int, got str"):
        await called(compiled(record), {"a": "1"})
    assert calls == []
    assert issubclass(ArgumentsRefused, ToolError)


def plain(a: int, ctx: Context) -> str:
    return f"{a} {ctx.user}"


async def coroutine(ctx: Context, a: int) -> str:
    return f"{a} {ctx.user}"


async def keyword_only(*, a: int, ctx: Context | None = None) -> str:
    return f"{a} {ctx.user}" if ctx else "none"


def returns_awaitable(a: int, ctx: Context) -> Awaitable[str]:
    return coroutine(ctx, a)


class Callable_:  # noqa: N801 - a name beside the hint's
    async def __call__(self, a: int, ctx: Context) -> str:
        return f"{a} {ctx.user}"

    async def method(self, a: int, ctx: Context) -> str:
        return f"{a} {ctx.user}"

    @staticmethod
    def static(a: int, ctx: Context) -> str:
        return f"{a} {ctx.user}"


def decorated(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    async def wrapper(*args: Any, **kwargs: Any) -> Any:
        return await function(*args, **kwargs)

    return wrapper


@pytest.mark.parametrize(
    "function",
    [
        plain,
        coroutine,
        keyword_only,
        Callable_(),
        Callable_,
        Callable_().method,
        Callable_.static,
        functools.partial(coroutine),
        functools.partial(plain),
        decorated(coroutine),
    ],
)
async def test_every_kind_of_callable_gets_its_arguments_and_the_context(function: Any) -> None:
    tool = compiled(function)
    assert list(tool.definition.input_schema["properties"]) == ["a"]
    assert (await called(tool, {"a": 1})).content == (TextContent("1 ann"),)


async def test_a_plain_function_may_return_an_awaitable() -> None:
    assert (await called(compiled(returns_awaitable, output_schema={}), {"a": 1})).structured_content == "1 ann"


async def test_plain_functions_share_the_given_threads() -> None:
    began, proceed = asyncio.Event(), asyncio.Event()
    loop = asyncio.get_running_loop()

    def block() -> None:
        loop.call_soon_threadsafe(began.set)
        asyncio.run_coroutine_threadsafe(proceed.wait(), loop).result(10)

    threads = Threads(limit=1, waiting=0)
    tool = compiled(block)
    task = asyncio.create_task(tool.call(CONTEXT, {}, threads))
    async with asyncio.timeout(10):
        await began.wait()
        with pytest.raises(Overloaded):
            await tool.call(CONTEXT, {}, threads)
        proceed.set()
        await task


async def fails() -> None:
    raise KeyError("dsn://secret")


async def says() -> None:
    raise ToolError("The city is unknown.")


async def wrong() -> int:
    return "three"  # type: ignore[return-value] # it is the case


@pytest.mark.parametrize(
    ("function", "kind", "words"),
    [(fails, KeyError, "dsn"), (says, ToolError, "city"), (wrong, OutputRefused, "integer")],
)
async def test_what_a_function_raises_reaches_the_caller_typed(
    function: Callable[..., Any], kind: type[Exception], words: str
) -> None:
    with pytest.raises(kind, match=words):
        await called(compiled(function))


async def exits() -> None:
    raise SystemExit(1)


def exits_in_a_thread() -> None:
    raise SystemExit(1)


@pytest.mark.parametrize("function", [exits, exits_in_a_thread])
async def test_a_tool_cannot_end_the_process(function: Callable[..., Any]) -> None:
    with pytest.raises(RuntimeError):
        await called(compiled(function))


async def test_cancellation_reaches_a_coroutine_function() -> None:
    began, ended = asyncio.Event(), asyncio.Event()

    async def wait() -> None:
        began.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    task = asyncio.create_task(called(compiled(wait)))
    async with asyncio.timeout(10):
        await began.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert ended.is_set()


async def generates() -> AsyncIterator[int]:
    yield 1


def generates_too() -> Iterator[int]:
    yield 1


def nothing() -> None: ...


@pytest.mark.parametrize("name", ["a", "getUser", "DATA_EXPORT_v2", "admin.tools.list", "-", "x" * 128])
def test_a_name_that_the_protocol_allows_is_taken(name: str) -> None:
    assert compiled(nothing, name=name).name == name


@pytest.mark.parametrize("name", ["", "a b", "a,b", "a/b", "ä", "x" * 129, "a\n", "a\x00", 7])
def test_a_name_that_some_client_would_not_take_is_refused(name: Any) -> None:
    with pytest.raises(RegistrationError, match="is no tool name"):
        compiled(nothing, name=name)
    with pytest.raises(RegistrationError, match="is no tool name"):
        compiled(nothing).renamed(name)


@pytest.mark.parametrize(
    ("function", "options", "words"),
    [
        (lambda: None, {}, "'<lambda>' is no tool name"),
        (7, {}, "int is not callable"),
        (object(), {}, "object is not callable"),
        (object, {}, "object is not callable"),
        (Forecast, {}, "Forecast cannot be made without arguments, so give an instance"),
        (generates, {}, "tool 'generates': a generator cannot be served"),
        (generates_too, {}, "tool 'generates_too': a generator cannot be served"),
        (nothing, {"timeout": 0}, "timeout must be a positive number of seconds"),
        (nothing, {"timeout": float("inf")}, "timeout must be"),
        (nothing, {"timeout": float("nan")}, "timeout must be"),
        (nothing, {"meta": {"a": object()}}, "tool 'nothing': its definition is not JSON"),
        (nothing, {"meta": {"a": float("nan")}}, "tool 'nothing': its definition is not JSON"),
        (nothing, {"input_schema": {"type": "object", "$ref": "http://x"}}, "tool 'nothing': input_schema has $ref"),
        (nothing, {"input_schema": {"type": "array"}}, "tool 'nothing': the root of input_schema"),
        (nothing, {"output_schema": {"type": "objekt"}}, "tool 'nothing': output_schema is no valid JSON Schema"),
        (nothing, {"output_schema": True}, "tool 'nothing': output_schema must be a JSON object"),
    ],
)
def test_what_could_not_be_served_is_refused_at_registration(
    function: Any, options: dict[str, Any], words: str
) -> None:
    with pytest.raises(RegistrationError) as refused:
        compiled(function, **options)
    assert words in str(refused.value)


def test_a_renamed_tool_is_the_same_but_for_its_name() -> None:
    tool = compiled(forecast)
    assert listed(tool.renamed("other")) == listed(tool) | {"name": "other"}
    assert tool.name == "forecast"


REGION = Annotated[str, msgspec.Meta(extra_json_schema={"x-mcp-header": "Region"})]


async def query(region: REGION, sql: str = "") -> str:
    return region + sql


def test_annotated_parameters_are_compared_with_their_headers() -> None:
    tool = compiled(query)
    assert [mirrored.header for mirrored in tool.header_map] == ["Mcp-Param-Region"]
    assert tool.definition.input_schema["properties"]["region"] == {"type": "string", "x-mcp-header": "Region"}
    headers = Headers([(b"mcp-param-region", b"eu")])
    assert tool.header_complaint({"region": "eu"}, headers) is None
    assert "Mcp-Param-Region" in str(tool.header_complaint({"region": "us"}, headers))


def test_a_header_that_breaks_the_rules_is_refused_at_registration() -> None:
    async def function(a: Annotated[float, msgspec.Meta(extra_json_schema={"x-mcp-header": "A"})]) -> None: ...

    with pytest.raises(RegistrationError, match="tool 'function': x-mcp-header of a needs type"):
        compiled(function)


class DataExport:
    """Export the data."""

    title = "Export"
    annotations = ToolAnnotations(idempotent_hint=True)
    timeout = 5.0

    def __init__(self, where: str = "here") -> None:
        self.where = where

    async def __call__(self, rows: int, ctx: Context) -> str:
        return f"{rows} {self.where} {ctx.user}"


class Named(DataExport):
    name = "export.v2"
    description = "Other words."
    input_schema = {"type": "object", "properties": {"rows": {"const": 7}}, "required": ["rows"]}  # noqa: RUF012 - an option


async def test_a_class_is_a_tool_whose_attributes_are_its_options() -> None:
    tool = compiled(DataExport)
    assert (tool.name, tool.timeout) == ("data_export", 5.0)
    assert listed(tool) == {
        "name": "data_export",
        "title": "Export",
        "description": "Export the data.",
        "inputSchema": {"type": "object", "properties": {"rows": {"type": "integer"}}, "required": ["rows"]},
        "annotations": {"idempotentHint": True},
    }
    assert (await called(tool, {"rows": 1})).content == (TextContent("1 here ann"),)


async def test_an_instance_is_a_tool_with_what_it_was_made_with() -> None:
    tool = compiled(Named("there"), title="Given")
    assert (tool.name, tool.definition.title, tool.definition.description) == ("export.v2", "Given", "Other words.")
    assert (await called(tool, {"rows": 7})).content == (TextContent("7 there ann"),)
    with pytest.raises(ArgumentsRefused):
        await called(tool, {"rows": 8})


@pytest.mark.parametrize(
    ("kind", "name"),
    [("HTTPServer", "http_server"), ("getX", "get_x"), ("A", "a"), ("Snake_case2Go", "snake_case2_go")],
)
def test_a_class_without_a_name_is_called_by_its_own_in_small_words(kind: str, name: str) -> None:
    assert compiled(type(kind, (DataExport,), {})).name == name
