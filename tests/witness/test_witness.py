"""Nothing that a server says escapes the witness, by whichever way it leaves, from whichever process."""

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from mcpfleet.backplane.memory import MemoryBackplane
from mcpfleet.protocol import jsonrpc
from mcpfleet.server.conversation import Conversation
from mcpfleet.server.engine import Engine
from mcpfleet_service.endpoint import Endpoint
from mcpfleet_service.guards import Guard
from tests import pair, wire
from tests.answer import Json
from tests.fleets import Fleet
from tests.processes import ROOT, environment
from tests.redis_server import SharedRedis, fresh_namespace
from tests.server.wire import LEGACY
from tests.server.world import Stage, World
from tests.service import lines
from tests.service.live import served
from tests.witness.plugin import WITNESS, Witness
from tests.witness.spoilt import SPOILT

FAULT = "Input should be '2.0'"

every_revision = pytest.mark.parametrize("date", wire.EVERY)


@pytest.fixture
def spoilt(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever this process says has a fault, until the end of the test."""
    monkeypatch.setattr(jsonrpc, "jsontext", SPOILT)


@pytest.fixture(scope="module")
def spoilt_fleet(
    redis_server: SharedRedis, tmp_path_factory: pytest.TempPathFactory, pytestconfig: pytest.Config
) -> Iterator[Fleet]:
    """Two processes whose every message has a fault, also those at their end."""
    with fresh_namespace(redis_server) as namespace:
        settings = {"REDIS_URL": redis_server.url, "NAMESPACE": namespace, "SSE": "true"}
        with Fleet(tmp_path_factory.mktemp("spoilt"), 2, settings, "tests.servers.spoilt:server") as fleet:
            yield fleet
    pytestconfig.stash[WITNESS].faults()


def assert_found(witness: Witness, messages: list[Json]) -> None:
    """Each of the messages has a fault, and for each of them that was found."""
    assert messages
    assert all(message["jsonrpc"] == "1.0" for message in messages)
    found = witness.faults()
    assert all(FAULT in fault for fault in found), found
    assert len(found) == len(messages)


@every_revision
async def test_what_a_process_answers_is_seen(spoilt_fleet: Fleet, date: str, witness: Witness) -> None:
    async with wire.Client(spoilt_fleet.url, date) as client:
        if not client.modern:
            assert_found(witness, (await client.initialize(pin=0)).messages)
        assert_found(witness, (await client.call("echo", x="hi", pin=1)).messages)
        counted = await client.call("count", n=2, token="t", pin=1)
        assert counted.is_stream
        assert_found(witness, counted.messages)
        assert_found(witness, (await client.request("no/such", pin=0)).messages)


@pytest.mark.parametrize("date", [wire.LATEST_HANDSHAKE, wire.MODERN])
async def test_what_changes_is_seen(spoilt_fleet: Fleet, date: str, witness: Witness) -> None:
    async with wire.Client(spoilt_fleet.url, date) as client:
        if client.modern:
            streaming = client.asking("subscriptions/listen", {"notifications": {"toolsListChanged": True}}, pin=0)
        else:
            await client.initialize(pin=1)
            streaming = client.listening(pin=0)
        async with streaming as stream:
            if client.modern:
                assert await stream.message()
            await client.call("announce", what="tools", as_id="a", pin=1)
            told = await stream.message()
    assert told is not None
    assert told["method"] == "notifications/tools/list_changed"
    assert any(FAULT in fault and told["method"] in fault for fault in witness.faults())


async def test_what_is_sent_again_is_seen_again(spoilt_fleet: Fleet, witness: Witness) -> None:
    async with wire.Client(spoilt_fleet.url, wire.LATEST_HANDSHAKE) as client:
        await client.initialize()
        async with client.calling("count", n=3, token=1, pin=0) as stream:
            first = await stream.event()
            while first is not None and not first.data:
                first = await stream.event()
            place = stream.last_event_id
            await stream.answer()
        witness.faults()
        assert_found(witness, (await client.resume(place, pin=1)).messages)


async def test_the_stream_of_the_oldest_transport_is_seen(spoilt_fleet: Fleet, witness: Witness) -> None:
    async with pair.opened(spoilt_fleet.balancer.url, pin=0) as session:
        await session.shake_hands("2025-03-26", pin=1)
        await session.call("count", n=2, token="t", as_id=7, pin=1)
        await session.answer(7)
    assert_found(witness, session.heard)


async def test_refusals_are_seen(spoilt_fleet: Fleet, witness: Witness) -> None:
    async with wire.Client(spoilt_fleet.url, wire.MODERN) as client:
        for method, body, headers in (("POST", b"{", {}), ("PUT", b"", {}), ("POST", b"{}", {"Host": "evil.example"})):
            answer = await client.send(method, body, headers=headers)
            assert answer.status >= 400
            assert any(FAULT in fault for fault in witness.faults()) == bool(answer.body)


@every_revision
async def test_a_process_of_lines_is_seen(date: str, witness: Witness) -> None:
    async with lines.child("tests.servers.spoilt:server") as child:
        await child.shake_hands(date)
        await child.call("count", n=2, token="t", as_id=7, date=date)
        await child.answer(7)
        await child.send_raw(b"{\n")
        await child.message()
        heard = [*child.lines]
        await child.close()
    found = witness.faults()
    assert sum(FAULT in fault for fault in found) >= len(heard)


@pytest.mark.usefixtures("spoilt")
async def test_an_engine_in_this_process_is_seen(memory: World, witness: Witness) -> None:
    node = await memory.node()
    assert_found(witness, (await node.modern("tools/list").got()).messages)
    session = await node.initialize(LEGACY)
    assert len(witness.faults()) == 1
    assert_found(witness, (await session.request(node, "tools/list").got()).messages)
    counted = await session.call(node, "count", n=2, token="t").got()
    assert counted.is_stream
    assert_found(witness, counted.messages)
    await node.send("POST", b"{").got()
    assert len(witness.faults()) == 1


@pytest.mark.usefixtures("spoilt")
async def test_a_conversation_in_this_process_is_seen(memory: World, witness: Witness) -> None:
    node, heard = await memory.node(), list[Json]()

    async def write(body: bytes) -> None:
        heard.append(json.loads(body))

    async with asyncio.TaskGroup() as tasks:
        talking = Conversation(node.engine, write, tasks)
        await talking.take(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}).encode())
    assert len(heard) == 1
    assert witness.faults()


@pytest.mark.usefixtures("spoilt")
async def test_an_endpoint_in_this_process_is_seen(witness: Witness) -> None:
    engine = Engine(Stage().server(), MemoryBackplane())
    guard = Guard(("127.0.0.1",), ())
    endpoint = Endpoint(lambda: engine, guard, None, max_body=None, keepalive=None)
    async with engine.running(), served(endpoint) as url, wire.Client(url, wire.MODERN) as client:
        assert_found(witness, (await client.request("tools/list")).messages)


def test_a_test_in_which_something_was_seen_fails(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text('pytest_plugins = ["tests.witness.plugin"]\n')
    (tmp_path / "test_it.py").write_text(
        "import pytest\n"
        "from tests.witness.startup.sitecustomize import Channel\n"
        "@pytest.fixture\n"
        "def late():\n"
        "    yield\n"
        "    say(b'{}')\n"
        "def say(message):\n"
        "    Channel('lines').said(message)\n"
        "def test_good():\n"
        '    say(b\'{"jsonrpc": "2.0", "error": {"code": 1, "message": "No"}}\')\n'
        "def test_bad():\n"
        "    say(b'{}')\n"
        "def test_bad_in_the_end(late):\n"
        "    pass\n"
    )
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "--rootdir",
        str(tmp_path),
        str(tmp_path),
    ]
    done = subprocess.run(
        command, env=environment({}), cwd=ROOT, capture_output=True, text=True, check=False, timeout=60
    )
    assert "2 passed" in done.stdout, done.stdout
    assert "1 failed" in done.stdout
    assert "1 error" in done.stdout
