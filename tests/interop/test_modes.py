"""The official clients and fleets that were switched otherwise: JSON alone, no sessions, an older revision."""

from collections.abc import Iterator

import pytest

from tests.fleets import Fleet
from tests.interop.conftest import Drivers, serving, where
from tests.interop.driver import Json
from tests.interop.subjects import Subject, shows
from tests.wire import LEGACY


@pytest.fixture(scope="module")
def json_only(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    """A fleet that answers requests with JSON, and would soon do otherwise if it could."""
    with serving(request, tmp_path_factory, JSON_RESPONSE="true", SSE_AFTER_MS="50") as fleet:
        yield fleet


@pytest.fixture(scope="module")
def stateless(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    """A fleet without sessions."""
    with serving(request, tmp_path_factory, STATELESS="true") as fleet:
        yield fleet


@pytest.fixture(scope="module", params=LEGACY[:-1])
def older(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Fleet]]:
    """A revision, and a fleet that agrees on no other with a legacy client."""
    with serving(request, tmp_path_factory, HANDSHAKE_VERSION=request.param, SSE="true") as fleet:
        yield request.param, fleet


@shows("answers that are always JSON", "http")
async def test_it_needs_no_streams(subject: Subject, drivers: Drivers, json_only: Fleet) -> None:
    """What a call says meanwhile is dropped, and a tool cannot ask; what is told to all clients still comes."""
    async with drivers[subject.client].connected(where(subject, json_only), era=subject.era) as client:
        progress: list[Json] = []
        call = {"name": "count", "arguments": {"n": 3, "delay": 0.1}}
        result = await client.request("tools/call", call, progress=progress)
        assert (result["content"][0]["text"], progress) == ("3", [])
        if not subject.modern:
            asking = await client.request("tools/call", {"name": "ask_greet", "arguments": {}})
            assert asking["isError"]
            await client.request("resources/subscribe", {"uri": "test://json"})
            await client.call("announce", what="resource", uri="test://json")
            await client.heard("notifications/resources/updated", uri="test://json")


@shows("no sessions at all", "http")
async def test_it_needs_no_session(subject: Subject, drivers: Drivers, stateless: Fleet) -> None:
    async with drivers[subject.client].connected(where(subject, stateless), era=subject.era) as client:
        known = [await client.call("whoami") for _ in range(6)]
        assert len({each["pid"] for each in known}) == 3
        assert {each["session"] for each in known} == {None}
        assert {each["revision"] for each in known} == {subject.version}
        progress: list[Json] = []
        await client.request("tools/call", {"name": "count", "arguments": {"n": 2, "delay": 0.1}}, progress=progress)
        assert [told["progress"] for told in progress] == [1, 2]
        if not subject.modern:
            asking = await client.request("tools/call", {"name": "ask_greet", "arguments": {}})
            assert asking["isError"]


@shows("older revisions", "http", "sse")
async def test_it_agrees_on_an_older_revision(subject: Subject, drivers: Drivers, older: tuple[str, Fleet]) -> None:
    date, fleet = older
    async with drivers[subject.client].connected(where(subject, fleet), era=subject.era) as client:
        known = [await client.call("whoami") for _ in range(6)]
        assert len({each["pid"] for each in known}) == 3
        assert {each["revision"] for each in known} == {date}
        progress: list[Json] = []
        counting = {"name": "count", "arguments": {"n": 3, "delay": 0.05}}
        await client.request("tools/call", counting, progress=progress)
        assert [told["progress"] for told in progress] == [1, 2, 3]
        assert all(("message" in told) == (date > "2024-11-05") for told in progress)
        weather = await client.request("tools/call", {"name": "weather", "arguments": {"city": "Oslo"}})
        assert ("structuredContent" in weather) == (date >= "2025-06-18")
        listed = (await client.request("resources/list"))["resources"]
        assert listed[0]["uri"] == "config://app"
        [message] = (await client.request("prompts/get", {"name": "review", "arguments": {"code": "x"}}))["messages"]
        assert message["content"] == {"type": "text", "text": "Review 1 deep: x"}
