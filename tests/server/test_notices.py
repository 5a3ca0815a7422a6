"""Notifications go one way: a function heeds them in the background, and nothing answers them, in either era."""

import asyncio
import json
from typing import Any

import pytest

from mcpfleet import Context, Incoming, Principal, ProtocolError, RegistrationError, Server, ToolError
from mcpfleet.protocol.headers import Headers
from mcpfleet.protocol.inbound import Limits, StatelessPost, classify
from mcpfleet.protocol.revisions import Era
from mcpfleet.server import notices
from mcpfleet.server.hooks import CallNext
from tests.answer import Answer, Json
from tests.server.wire import DEADLINE, Node, RecordingPeer, notification, request
from tests.server.world import HASTY, PATIENT, World, eventually

both_eras = pytest.mark.parametrize("era", Era, ids=lambda era: era.value)
ANN = Principal("ann")


class Heard:
    """A server whose functions keep what they were told."""

    def __init__(self) -> None:
        self.server = Server("s")
        self.told: asyncio.Queue[Any] = asyncio.Queue()
        self.gate = asyncio.Event()
        self.server.notification("acme/moved")(self.moved)
        self.server.notification("acme/wait")(self.wait)
        self.server.notification("acme/fail")(self.fail)

    async def moved(self, x: int, ctx: Context, y: int = 0) -> None:
        self.told.put_nowait((x, y, ctx.principal, ctx.era, ctx.request_id))

    async def wait(self) -> None:
        self.told.put_nowait("waits")
        try:
            await self.gate.wait()
            self.told.put_nowait("waited")
        except asyncio.CancelledError:
            self.told.put_nowait("cancelled")
            raise

    async def fail(self, kind: str) -> None:
        raise {
            "foreign": RuntimeError("no luck"),
            "told": ToolError("no luck"),
            "refused": ProtocolError(1, "no luck"),
            "group": BaseExceptionGroup("no luck", [KeyboardInterrupt()]),
        }[kind]

    async def next(self) -> Any:
        async with asyncio.timeout(DEADLINE):
            return await self.told.get()


async def notify(node: Node, era: Era, method: str, params: Json) -> Answer:
    if era is Era.MODERN:
        message = notification(method, params)
        return await node.send("POST", message, principal=ANN, MCP_Protocol_Version="2026-07-28").got()
    session = await node.initialize(principal=ANN)
    return await session.notify(node, method, params).got()


@both_eras
async def test_a_function_is_called_with_the_params_and_knows_who_sent_them(memory: World, era: Era) -> None:
    heard = Heard()
    node = await memory.node(server=heard.server)
    got = await notify(node, era, "acme/moved", {"x": 1, "_meta": {}})
    assert (got.status, got.body) == (202, b"")
    assert await heard.next() == (1, 0, ANN, era, None)


async def test_a_synchronous_function_heeds_too(memory: World) -> None:
    heard = Heard()

    @heard.server.notification("acme/sync")
    def sync(x: int) -> None:
        heard.told.put_nowait(x)

    await notify(await memory.node(server=heard.server), Era.MODERN, "acme/sync", {"x": 3})
    assert await heard.next() == 3


@both_eras
@pytest.mark.parametrize("kind", ["foreign", "told", "refused", "group", "arguments"])
async def test_what_it_raises_is_logged_and_told_to_nobody(
    memory: World, era: Era, kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    heard = Heard()
    node = await memory.node(server=heard.server)
    got = await notify(node, era, "acme/fail", {} if kind == "arguments" else {"kind": kind})
    assert (got.status, got.body) == (202, b"")
    foreign = kind in ("foreign", "group")
    await eventually(lambda: f"acme/fail {'failed' if foreign else 'was refused'}" in caplog.text)
    assert ("Traceback" in caplog.text) == foreign
    assert ("kind: required" if kind == "arguments" else "no luck") in caplog.text
    await notify(node, era, "acme/moved", {"x": 1})
    assert (await heard.next())[0] == 1, "the process goes on"


@both_eras
async def test_nobody_waits_for_it_but_the_end_of_the_process_does(memory: World, era: Era) -> None:
    heard = Heard()
    node = await memory.node(server=heard.server)
    assert (await notify(node, era, "acme/wait", {})).status == 202
    assert await heard.next() == "waits"
    stopping = asyncio.ensure_future(memory.stop(node))
    await asyncio.sleep(0)
    heard.gate.set()
    await stopping
    assert await heard.next() == "waited"


async def test_one_that_does_not_end_in_time_is_cancelled_with_its_process(memory: World) -> None:
    heard = Heard()
    node = await memory.node(PATIENT, heard.server)
    await notify(node, Era.MODERN, "acme/wait", {})
    assert await heard.next() == "waits"
    await memory.stop(node)
    assert await heard.next() == "cancelled"


async def test_a_process_whose_time_is_up_cancels_what_it_heeds_and_takes_no_more(memory: World) -> None:
    heard = Heard()
    node = await memory.node(server=heard.server)
    await notify(node, Era.MODERN, "acme/wait", {})
    assert await heard.next() == "waits"
    node.engine._stop()
    assert await heard.next() == "cancelled"
    assert (await notify(node, Era.MODERN, "acme/moved", {"x": 1})).status == 503


async def test_one_that_takes_too_long_is_cancelled_and_that_is_logged(
    memory: World, caplog: pytest.LogCaptureFixture
) -> None:
    heard = Heard()
    heard.server.notification("acme/brief", timeout=0.01)(heard.wait)
    node = await memory.node(server=heard.server)
    await notify(node, Era.MODERN, "acme/brief", {})
    assert [await heard.next(), await heard.next()] == ["waits", "cancelled"]
    await eventually(lambda: "acme/brief failed" in caplog.text)


@both_eras
async def test_more_than_a_process_can_heed_are_refused_and_logged(
    memory: World, era: Era, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(notices, "MAX_RUNNING", 1)
    heard = Heard()
    node = await memory.node(server=heard.server)
    await notify(node, era, "acme/wait", {})
    assert await heard.next() == "waits"
    got = await notify(node, era, "acme/moved", {"x": 1})
    assert (got.status, got.reason, got.headers["Retry-After"]) == (503, "too_many_notifications", "1")
    assert "another is refused" in caplog.text
    assert (await notify(node, era, "acme/unheard", {})).status == 202, "what nobody heeds takes no place"
    heard.gate.set()
    assert await heard.next() == "waited"


async def test_a_batch_with_one_too_many_runs_none_of_its_requests(
    memory: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(notices, "MAX_RUNNING", 0)
    heard = Heard()

    @heard.server.tool
    async def run() -> None:
        heard.told.put_nowait("ran")

    node = await memory.node(server=heard.server)
    session = await node.initialize("2025-03-26")
    batch = [notification("acme/moved", {"x": 1}), request("tools/call", {"name": "run"}, 2)]
    got = await session.send(node, "POST", batch).got()
    assert (got.status, got.reason) == (503, "too_many_notifications")
    assert heard.told.empty()


@pytest.mark.parametrize("batch", [False, True])
async def test_without_sessions_they_are_refused_too(
    memory: World, batch: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(notices, "MAX_RUNNING", 1)
    heard = Heard()
    node = await memory.node(server=heard.server)
    headers = Headers.of({"content-type": "application/json", "accept": "application/json"})

    async def post(message: Json) -> int:
        body = json.dumps([message] if batch else message).encode()
        asked = classify("POST", headers, body, limits=Limits(stateless=True))
        assert isinstance(asked, StatelessPost)
        answer = await node.engine.serve(asked, headers, ANN, RecordingPeer())
        assert answer is not None
        return answer.status

    assert await post(notification("acme/wait")) == 202
    assert await heard.next() == "waits"
    assert await post(notification("acme/moved", {"x": 1})) == 503
    heard.gate.set()
    assert await heard.next() == "waited"


async def test_a_batch_is_heeded_one_by_one(memory: World) -> None:
    heard = Heard()
    node = await memory.node(server=heard.server)
    session = await node.initialize("2025-03-26")
    got = await session.send(node, "POST", [notification("acme/moved", {"x": x}) for x in (1, 2)]).got()
    assert got.status == 202
    assert [(await heard.next())[0] for _ in range(2)] == [1, 2]


@both_eras
async def test_hooks_are_around_notifications_whether_or_not_a_function_heeds_them(memory: World, era: Era) -> None:
    heard = Heard()

    @heard.server.around_request
    async def watch(request: Incoming, call_next: CallNext) -> Any:
        if request.is_notification:
            heard.told.put_nowait(f"around {request}")
        if request.params.get("x") == 7:
            raise ProtocolError(1, "not seven")
        return await call_next(request)

    node = await memory.node(server=heard.server)
    for method, params in [("acme/moved", {"x": 1}), ("notifications/initialized", {}), ("acme/moved", {"x": 7})]:
        assert (await notify(node, era, method, params)).status == 202
    told = [await heard.next() for _ in range(4)]
    assert [each for each in told if isinstance(each, str)] == [
        *("around acme/moved", "around notifications/initialized", "around acme/moved"),
    ]
    assert [each[0] for each in told if isinstance(each, tuple)] == [1]


async def test_a_hook_cannot_keep_a_cancel_from_its_request(memory: World) -> None:
    server = memory.stage.server()

    @server.around_request("notifications/cancelled")
    async def refuse(request: Incoming, call_next: CallNext) -> Any:
        raise ProtocolError(1, "no")

    node = await memory.node(HASTY, server)
    session = await node.initialize()
    session.call(node, "held", as_id=7, name="a")
    assert await memory.stage.began() == "a"
    assert (await session.cancel(node, 7)).status == 202
    assert await memory.stage.was_cancelled() == "a"


async def test_the_hook_for_roots_is_a_legacy_one(memory: World) -> None:
    heard = Heard()

    @heard.server.on_roots_changed
    def changed(ctx: Context) -> None:
        heard.told.put_nowait(("roots", ctx.principal, (ctx.client_info or {}).get("name")))

    node = await memory.node(server=heard.server)
    await notify(node, Era.MODERN, "notifications/roots/list_changed", {})
    await notify(node, Era.LEGACY, "notifications/roots/list_changed", {})
    assert await heard.next() == ("roots", ANN, "wire")
    assert heard.told.empty()


async def test_an_included_servers_notifications_come_with_it(memory: World) -> None:
    heard, server = Heard(), Server("outer")
    server.include(heard.server, prefix="x.")
    assert server.registry
    node = await memory.node(server=server)
    await notify(node, Era.MODERN, "x.acme/moved", {"x": 5})
    assert (await heard.next())[0] == 5


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("notifications/cancelled", "belongs to the protocol"),
        ("tools/call", "belongs to the protocol"),
        ("a b", "is no name of a notification"),
        ("acme/moved", "registered already"),
    ],
)
def test_a_name_that_cannot_be_taken_is_refused(name: str, words: str) -> None:
    heard = Heard()
    with pytest.raises(RegistrationError, match=words):
        heard.server.notification(name)(heard.moved)


@pytest.mark.parametrize("timeout", [0, -1, float("inf")])
def test_a_timeout_that_is_none_is_refused(timeout: float) -> None:
    heard = Heard()
    with pytest.raises(RegistrationError, match="timeout"):
        heard.server.notification("acme/other", timeout=timeout)(heard.moved)


async def test_a_modern_notification_may_say_nothing_of_its_sender_or_nonsense(memory: World) -> None:
    heard = Heard()
    seen: list[Any] = []

    @heard.server.around_request
    async def watch(request: Incoming, call_next: CallNext) -> Any:
        seen.append((request.client, dict(request.caller.capabilities)))
        return await call_next(request)

    node = await memory.node(server=heard.server)
    info, able = "io.modelcontextprotocol/clientInfo", "io.modelcontextprotocol/clientCapabilities"
    metas: list[Any] = [{info: {"name": "c"}, able: {"roots": {}}}, {info: 7, able: []}, []]
    for meta in metas:
        await notify(node, Era.MODERN, "acme/moved", {"x": 1, "_meta": meta})
        await heard.next()
    assert seen == [({"name": "c"}, {"roots": {}}), (None, {}), (None, {})]
