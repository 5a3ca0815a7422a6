"""The official clients, their sessions, and their calls, when processes are killed."""

import asyncio

from tests import wire
from tests.fleets import Fleet
from tests.interop.conftest import Drivers, where
from tests.interop.driver import SECONDS, Connection, Json, Refused
from tests.interop.subjects import Subject, shows
from tests.server.world import eventually


@shows("sessions")
async def test_every_process_knows_its_session_until_it_ends_it(
    subject: Subject, drivers: Drivers, served: Fleet
) -> None:
    async with drivers[subject.client].connected(where(subject, served), era=subject.era) as client:
        known = [await client.call("whoami") for _ in range(6)]
    assert len({each["pid"] for each in known}) == 3
    [session] = {each["session"] for each in known}
    async with wire.Client(served.url, subject.version) as other:
        other.session_id = session
        assert [(await other.request("ping", pin=process)).status for process in range(3)] == [404] * 3


@shows("resumption")
async def test_a_call_goes_on_for_it_when_the_process_that_held_its_stream_is_killed(
    subject: Subject, drivers: Drivers, fragile: Fleet
) -> None:
    """It comes back twice with `Last-Event-ID`, each time to another process."""
    progress: list[Json] = []
    async with (
        drivers[subject.client].connected(where(subject, fragile), era=subject.era) as client,
        wire.connected(fragile.url, wire.MODERN) as other,
        asyncio.TaskGroup() as tasks,
    ):
        call = {"name": "part", "arguments": {"turns": 1, "more": True}}
        calling = tasks.create_task(client.request("tools/call", call, progress=progress))
        await eventually(lambda: bool(progress))
        runs = last(fragile, "POST")
        before = len(fragile.balancer.served)
        await other.call("go_on", pin=runs)
        await eventually(lambda: len(progress) == 2)  # a client that has read nothing there forgets where it was
        [holds] = gets(fragile, before)
        assert holds != runs
        fragile.processes[holds].kill()
        await other.call("go_on", pin=runs)
        assert (await calling)["content"] == [{"type": "text", "text": "back"}]
        assert gets(fragile, before)[-1] != holds


@shows("resumption")
async def test_it_hears_what_happened_while_the_process_of_its_own_stream_was_gone(
    subject: Subject, drivers: Drivers, fragile: Fleet
) -> None:
    uri = f"test://{subject}/meanwhile"
    async with drivers[subject.client].connected(where(subject, fragile), era=subject.era) as client:
        await client.request("resources/subscribe", {"uri": uri})
        await client.call("announce", what="resource", uri=uri)
        await client.heard("notifications/resources/updated", uri=uri)  # so its stream is open
        fragile.processes[last(fragile, "GET")].kill()
        await client.call("announce", what="resource", uri=uri)
        await client.heard("notifications/resources/updated", uri=uri)


@shows("several processes")
async def test_only_what_runs_in_a_process_that_is_killed_is_lost_to_it(
    subject: Subject, drivers: Drivers, fragile: Fleet
) -> None:
    """And is ended with an error; whatever else it calls goes on."""
    async with drivers[subject.client].connected(where(subject, fragile), era=subject.era) as client:
        tags = {f"{subject} {number}" for number in range(4)}
        calls = {tag: asyncio.create_task(outcome(client, tag)) for tag in tags}
        ran = await begun(fragile, tags)
        spared = last(fragile, "GET") if subject.transport == "sse" else -1
        victim, lost = next((process, those) for process, those in ran.items() if those and process != spared)
        fragile.processes[victim].kill()
        ended = {tag: await call for tag, call in calls.items()}
        assert {tag for tag, what in ended.items() if isinstance(what, Refused)} == lost
        assert {tag for tag, what in ended.items() if what == tag} == tags - lost
        assert await client.call("echo", x="on") == "on"


async def outcome(client: Connection, tag: str) -> object:
    """What becomes of a call that takes two seconds."""
    try:
        return await client.call("slow", seconds=2, tag=tag)
    except Refused as refused:
        return refused


async def begun(fleet: Fleet, tags: set[str]) -> dict[int, set[str]]:
    """Which of the slow calls each process runs, once all of them have begun somewhere."""
    async with wire.connected(fleet.url, wire.MODERN) as other, asyncio.timeout(SECONDS):
        while True:
            ran = {}
            for process in range(len(fleet.processes)):
                journal = (await other.call("journal", pin=process)).value
                ran[process] = {tag for tag in tags if f"began {tag}" in journal}
            if set().union(*ran.values()) == tags:
                return ran


def gets(fleet: Fleet, since: int) -> list[int]:
    """Which processes have got a GET since then."""
    return [served.process for served in fleet.balancer.served[since:] if served.method == "GET"]


def last(fleet: Fleet, method: str) -> int:
    """Which process got the last request with this HTTP method."""
    return next(served.process for served in reversed(fleet.balancer.served) if served.method == method)
