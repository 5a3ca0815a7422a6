"""The modern era: every request stands alone, and any process serves it ("Overview", "Streamable HTTP" 2026-07-28)."""

import base64

import pytest

from tests.answer import Answer
from tests.fleets import Fleet
from tests.wire import EVERY, LATEST_HANDSHAKE, LEGACY, MODERN, connected

VERSION = "io.modelcontextprotocol/protocolVersion"
CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"
INFO = "io.modelcontextprotocol/clientInfo"
SERVER = {"io.modelcontextprotocol/serverInfo": {"name": "basic", "version": "1.0.0"}}


async def test_discover_tells_all_that_a_client_must_know(fleet: Fleet) -> None:
    """Discovery, "server/discover": versions newest first, capabilities, instructions, and for how long."""
    async with connected(fleet.url, MODERN) as client:
        answer = await client.request("server/discover")
    assert answer.result == {
        "supportedVersions": list(reversed(EVERY)),
        "capabilities": {
            "tools": {"listChanged": True},
            "prompts": {"listChanged": True},
            "resources": {"listChanged": True, "subscribe": True},
            "logging": {},
            "completions": {},
        },
        "instructions": "Tools for tests.",
        "resultType": "complete",
        "ttlMs": 0,
        "cacheScope": "private",
        "_meta": SERVER,
    }


async def test_every_result_says_of_what_type_it_is_and_who_made_it(fleet: Fleet) -> None:
    """Overview, "ResultType" and "_meta": a failed tool's too, and on a stream too."""
    async with connected(fleet.url, MODERN) as client:
        results = [
            (await client.request("server/discover")).result,
            (await client.request("tools/list")).result,
            (await client.call("echo", x="x")).result,
            (await client.call("add", a="x")).result,
            (await client.call("count", n=2, token="t")).result,
        ]
    assert [result["resultType"] for result in results] == ["complete"] * 5
    assert [result["_meta"] for result in results] == [SERVER] * 5


async def test_a_list_says_for_how_long_and_for_whom_it_may_be_kept(fleet: Fleet) -> None:
    """Caching, "Cacheable Results"."""
    async with connected(fleet.url, MODERN) as client:
        result = (await client.request("tools/list")).result
        called = (await client.call("echo", x="x")).result
    assert (result["ttlMs"], result["cacheScope"]) == (0, "private")
    assert not {"ttlMs", "cacheScope"} & set(called)


@pytest.mark.parametrize("kind", ["tools", "prompts", "resources"])
async def test_a_modern_list_does_not_depend_on_what_went_before(fleet: Fleet, kind: str) -> None:
    """Tools, Prompts and Resources 2026-07-28, "Capabilities": the same for every connection, whatever was asked on
    it."""
    async with connected(fleet.url, MODERN) as client, connected(fleet.url, MODERN) as other:
        fresh = (await other.request(f"{kind}/list")).result
        for tool in ("echo", "no_such_tool", "add"):
            await client.call(tool, x="x")
        await client.request("prompts/get", {"name": "greet", "arguments": {"name": "Ada"}})
        await client.request("resources/read", {"uri": "config://app"}, headers={"Mcp-Name": "config://app"})
        await client.request("no/such/method")
        assert fresh[kind]
        assert (await client.request(f"{kind}/list")).result == fresh


@pytest.mark.parametrize("date", LEGACY)
async def test_no_legacy_result_has_what_only_modern_ones_have(fleet: Fleet, date: str) -> None:
    """Lifecycle, "Operation": the agreed version is respected, down to the schema of each legacy revision."""
    async with connected(fleet.url, date) as client:
        for result in ((await client.request("tools/list")).result, (await client.call("echo", x="x")).result):
            assert not {"resultType", "ttlMs", "cacheScope", "_meta"} & set(result)


async def test_no_request_needs_or_gets_a_session(fleet: Fleet) -> None:
    """Overview, "Statelessness": there are no sessions, and a client's memory of one changes nothing."""
    async with connected(fleet.url, MODERN) as client:
        answers = [
            await client.call("whoami", as_id=1),
            await client.request("tools/call", {"name": "whoami"}, headers={"Mcp-Session-Id": "0" * 32}),
        ]
    assert ["Mcp-Session-Id" in answer.headers for answer in answers] == [False, False]
    assert [answer.value["session"] for answer in answers] == [None, None]


@pytest.mark.parametrize(
    ("header", "value"),
    [
        ("MCP-Protocol-Version", None),
        ("MCP-Protocol-Version", LATEST_HANDSHAKE),
        ("MCP-Protocol-Version", "2099-01-01"),
        ("Mcp-Method", None),
        ("Mcp-Method", "tools/list"),
        ("Mcp-Method", "TOOLS/CALL"),
        ("Mcp-Name", None),
        ("Mcp-Name", "add"),
        ("Mcp-Name", "Echo"),
        ("Mcp-Name", ""),
        ("Mcp-Name", "=?base64?!!?="),
    ],
)
async def test_a_header_that_is_missing_or_at_odds_with_the_body_is_refused(
    fleet: Fleet, header: str, value: str | None
) -> None:
    """Streamable HTTP, "Server Validation": 400 and -32020, so that intermediaries may trust the headers."""
    async with connected(fleet.url, MODERN) as client:
        params = {"name": "echo", "arguments": {"x": "x"}}
        answer = await client.request("tools/call", params, as_id="h", headers={header: value})
    told(answer, 400, -32020)


async def test_a_name_may_be_encoded_in_its_header(fleet: Fleet) -> None:
    """Streamable HTTP, "Value Encoding"."""
    async with connected(fleet.url, MODERN) as client:
        encoded = f"=?base64?{base64.b64encode(b'echo').decode()}?="
        answer = await client.request(
            "tools/call", {"name": "echo", "arguments": {"x": "x"}}, headers={"Mcp-Name": encoded}
        )
    assert answer.text == "x"


@pytest.mark.parametrize("version", ["2099-01-01", "1.0", ""])
async def test_a_version_that_is_not_spoken_here_is_answered_with_those_that_are(fleet: Fleet, version: str) -> None:
    """Versioning, "Protocol Version Negotiation": 400 and -32022 with the supported list and what was asked
    for."""
    async with connected(fleet.url, MODERN) as client:
        meta = {"_meta": {VERSION: version}}
        answer = await client.request("tools/list", meta, as_id="h", headers={"MCP-Protocol-Version": version})
    told(answer, 400, -32022)
    assert answer.error["data"] == {"supported": list(reversed(EVERY)), "requested": version}


@pytest.mark.parametrize(
    "meta",
    [
        {CAPABILITIES: None},
        {CAPABILITIES: []},
        {CAPABILITIES: {"elicitation": True}},
        {VERSION: None},
        {VERSION: 20260728},
        {INFO: "me"},
    ],
)
async def test_a_request_that_does_not_say_who_asks_is_refused(fleet: Fleet, meta: dict[str, object]) -> None:
    """Overview, "_meta": version and capabilities are required; -32602."""
    async with connected(fleet.url, MODERN) as client:
        told(await client.request("tools/list", {"_meta": meta}, as_id="h"), 400, -32602)


@pytest.mark.parametrize(
    "method", ["initialize", "ping", "logging/setLevel", "resources/subscribe", "no/such/method", "tools/List"]
)
async def test_a_method_that_this_era_does_not_have_is_not_found(fleet: Fleet, method: str) -> None:
    """Key Changes 2026-07-28, "Removed"; Streamable HTTP, "Protocol Version Header": 404 and -32601."""
    async with connected(fleet.url, MODERN) as client:
        told(await client.request(method, as_id="h"), 404, -32601)


async def test_a_notification_is_accepted_and_changes_nothing(fleet: Fleet) -> None:
    """Streamable HTTP, "Sending Messages": 202 without a body."""
    async with connected(fleet.url, MODERN) as client:
        for method in ("notifications/initialized", "notifications/cancelled", "notifications/unheard-of"):
            answer = await client.notify(method, {"requestId": 1})
            assert (answer.status, answer.body) == (202, b"")


def told(answer: Answer, status: int, code: int) -> None:
    assert (answer.status, answer.error["code"], answer.reply["id"]) == (status, code, "h")
    assert "Mcp-Session-Id" not in answer.headers
