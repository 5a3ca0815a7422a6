"""The client and our fleet behind the hostile balancer, and a process over stdio, in both eras."""

import asyncio

import pytest

from mcpfleet import ElicitForm, ElicitResult, ElicitUrl, ProtocolError, Root, TextContent
from mcpfleet.client.canceltoken import CancelToken
from mcpfleet.client.client import Client
from mcpfleet.errors import Cancelled, InputNeeded, RemoteError, RequestTimedOut
from mcpfleet.protocol.messages.notifications import LogMessage
from tests.client.conftest import ALL_WAYS, Way
from tests.fleets import Fleet
from tests.wire import MODERN


def text_of(result: object) -> str:
    """What a tool said in its one block of text."""
    content = getattr(result, "content")  # noqa: B009 - any result of a call
    assert len(content) == 1
    assert isinstance(content[0], TextContent)
    return content[0].text


@pytest.mark.parametrize("way", ALL_WAYS, ids=str)
async def test_it_connects_and_knows_whom_it_is_connected_to(way: Way, fleet: Fleet) -> None:
    async with way.client(fleet) as client:
        assert client.protocol_version == (MODERN if way.modern else way.mode.replace("legacy", "2025-11-25"))
        assert client.server_info is not None
        assert client.server_info.name == "everything"
        assert client.instructions == "Ask for anything."
        assert client.server_capabilities.tools is not None
        await client.ping()


@pytest.mark.parametrize("way", ALL_WAYS, ids=str)
async def test_it_lists_everything_page_by_page(way: Way, fleet: Fleet) -> None:
    async with way.client(fleet) as client:
        page = await client.tools_page()
        tools = await client.list_tools()
        assert len(page.tools) == 10
        assert len(tools) > len(page.tools)
        assert {"echo", "add", "mirrored"} <= {tool.name for tool in tools}
        assert await client.list_prompts()
        assert await client.list_resources()
        assert await client.list_resource_templates()


@pytest.mark.parametrize("way", ALL_WAYS, ids=str)
async def test_it_calls_a_tool(way: Way, fleet: Fleet) -> None:
    async with way.client(fleet) as client:
        value = "a\u2028b\u2029c\x85d 😀 \r\n data: x"
        assert text_of(await client.call_tool("echo", {"x": value})) == value
        failed = await client.call_tool("fail", {"words": "out of paper"})
        assert failed.is_error
        assert text_of(failed) == "out of paper"


async def test_many_calls_at_once_starve_nobody(way: Way, fleet: Fleet) -> None:
    async with way.client(fleet) as client, asyncio.timeout(30):
        calls = [client.call_tool("slow", {"seconds": 1.0, "tag": str(number)}) for number in range(32)]
        assert [text_of(result) for result in await asyncio.gather(*calls)] == [str(number) for number in range(32)]


async def test_it_follows_the_progress_of_a_call_and_hears_what_it_logs(way: Way, fleet: Fleet) -> None:
    client, logged, reported = way.client(fleet), list[LogMessage](), list[tuple[float, float | None, str | None]]()
    client.on_log(logged.append)
    async with client:
        await client.set_log_level("info")

        def on_progress(progress: float, total: float | None, message: str | None) -> None:
            reported.append((progress, total, message))

        assert text_of(await client.call_tool("count", {"n": 3}, on_progress=on_progress)) == "3"
    assert [each for each in ((1, 3, "1 of 3"), (2, 3, "2 of 3"), (3, 3, "3 of 3")) if each in reported] == reported
    assert reported[-1] == (3, 3, "3 of 3")  # of reports that wait to be sent, the server sends the newest
    assert [message.data for message in logged] == [{"count": 1}, {"count": 2}, {"count": 3}]


async def test_progress_extends_the_time_out_up_to_a_cap(way: Way, fleet: Fleet) -> None:
    def heard(*_: object) -> None: ...

    async with way.client(fleet, timeout=2.0, most=5.0) as client, asyncio.timeout(30):
        await client.call_tool("count", {"n": 6, "delay": 0.5}, on_progress=heard)
        with pytest.raises(RequestTimedOut):
            await client.call_tool("report", on_progress=heard)
        with pytest.raises(RequestTimedOut):
            await client.call_tool("slow", {"seconds": 20}, timeout=0.5)
        await client.ping()


async def test_a_call_is_cancelled_with_its_task_or_by_a_token_and_the_tool_is_told(way: Way, fleet: Fleet) -> None:
    async with way.client(fleet) as client, asyncio.timeout(30):
        begun = asyncio.Event()

        def heard(*_: object) -> None:
            begun.set()

        call = asyncio.create_task(client.call_tool("report", {"tag": f"{way} task"}, on_progress=heard))
        await begun.wait()
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        begun.clear()
        token = CancelToken()
        call = asyncio.create_task(client.call_tool("report", {"tag": f"{way} token"}, on_progress=heard, cancel=token))
        await begun.wait()
        token.cancel("enough")
        with pytest.raises(Cancelled, match="enough"):
            await call
        wanted, found = {f"cancelled {way} task", f"cancelled {way} token"}, set[str]()
        while not wanted <= found:
            found |= set(text_of(await client.call_tool("journal")).split('"'))


@pytest.mark.parametrize("way", ALL_WAYS, ids=str)
async def test_the_errors_of_a_server_are_raised_as_they_are(way: Way, fleet: Fleet) -> None:
    async with way.client(fleet) as client:
        with pytest.raises(RemoteError) as raised:
            await client.call_tool("no such tool")
        assert raised.value.code == -32602
        with pytest.raises(RemoteError) as raised:
            await client.request("no/such/method")
        assert raised.value.code == -32601
        with pytest.raises(RemoteError) as raised:
            await client.read_resource("test://nothing/here")
        assert raised.value.code == (-32602 if way.modern else -32002)


async def test_it_answers_questions(way: Way, fleet: Fleet) -> None:
    client, asked = way.client(fleet), list[ElicitForm | ElicitUrl]()

    @client.on_elicitation
    async def elicit(question: ElicitForm | ElicitUrl) -> ElicitResult:
        asked.append(question)
        return ElicitResult(action="accept", content={"name": "Ada", "mood": "cool"})

    @client.on_roots
    async def roots() -> list[Root]:
        return [Root("file:///work", "work")]

    async with client:
        assert text_of(await client.call_tool("ask_greet")) == "cool Ada None"
        assert "file:///work" in text_of(await client.call_tool("ask_where"))
    [question] = asked
    assert isinstance(question, ElicitForm)
    assert question.message == "Who are you?"


async def test_what_an_accepted_form_leaves_out_is_what_it_proposes(way: Way, fleet: Fleet) -> None:
    client = way.client(fleet)

    @client.on_elicitation
    async def elicit(question: ElicitForm | ElicitUrl) -> ElicitResult:
        assert isinstance(question, ElicitForm)
        fields = question.requested_schema["properties"]
        proposed = {name for name, field in fields.items() if "default" in field}
        missing = {"name": "Ada", "mood": "warm"}
        return ElicitResult(action="accept", content={k: v for k, v in missing.items() if k not in proposed})

    async with client:
        assert "Ada" in text_of(await client.call_tool("ask_greet"))


async def test_who_answers_no_questions_is_not_asked(way: Way, fleet: Fleet) -> None:
    async with way.client(fleet) as client:
        with pytest.raises(RemoteError) as raised:
            await client.call_tool("ask_greet")
        assert raised.value.code == (-32021 if way.modern else -32600)


async def test_a_handler_may_refuse_in_words_of_its_own(way: Way, fleet: Fleet) -> None:
    client = way.client(fleet)

    @client.on_elicitation
    async def elicit(question: ElicitForm | ElicitUrl) -> ElicitResult:
        raise ProtocolError(-1, "the user rejected it")

    async with client:
        if way.modern:
            with pytest.raises(ProtocolError, match="rejected"):
                await client.call_tool("ask_greet")
        else:
            assert "the user rejected it" in text_of(await client.call_tool("ask_greet"))


async def test_a_server_that_asks_for_ever_is_answered_only_so_often(fleet: Fleet) -> None:
    client = Client(fleet.url, mode="modern")

    @client.on_elicitation
    async def elicit(question: ElicitForm | ElicitUrl) -> ElicitResult:
        return ElicitResult(action="accept", content={})

    async with client:
        with pytest.raises(InputNeeded, match="asked 10 times"):
            await client.call_tool("ask_restless")


async def test_arguments_are_mirrored_in_headers_also_of_a_tool_that_was_never_listed(fleet: Fleet) -> None:
    async with Client(fleet.url) as client:
        encoded = "=?base64?WsO8cmljaA==?="
        assert text_of(await client.call_tool("mirrored", {"region": "Zürich"})) == f"Zürich {encoded}"
        assert text_of(await client.call_tool("mirrored", {"region": ""})) == " "


async def test_results_are_held_against_the_output_schema_of_their_tool(way: Way, fleet: Fleet) -> None:
    async with way.client(fleet) as client:
        await client.list_tools()
        found = (await client.call_tool("weather", {"city": "Kyiv"})).structured_content
        assert isinstance(found, dict)
        assert found["city"] == "Kyiv"


async def test_prompts_resources_and_completions_are_read(way: Way, fleet: Fleet) -> None:
    async with way.client(fleet) as client:
        prompt = await client.get_prompt("greet", {"name": "Ada"})
        assert [message.content for message in prompt.messages] == [TextContent("warm Ada")]
        assert len((await client.get_prompt("media")).messages) == 6
        suggested = await client.complete({"type": "ref/prompt", "name": "review"}, "code", "x", given={"depth": "3"})
        assert suggested.values[0] == "x0"
        [found] = (await client.read_resource("config://app")).contents
        assert found.uri == "config://app"
