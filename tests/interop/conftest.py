"""The fleet, the drivers, and a connection for the tests with official clients."""

import os
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

import pytest

from tests.fleets import Fleet
from tests.interop.driver import Connection, Driver, Json
from tests.interop.subjects import Client, Subject
from tests.node import NODE, NotInstalled, installed
from tests.node import environment as without_proxies
from tests.processes import ROOT, environment, python
from tests.redis_server import SharedRedis, fresh_namespace

SERVER: Final = "tests.servers.everything:server"
PAGE_SIZE: Final = 10
HERE: Final = Path(__file__).parent
PROGRAMS: Final = {"python": "python_sdk.py", "typescript": "client.cjs", "typescript-v1": "sdk.cjs"}


class Drivers:
    """The drivers, each of which runs from when it is first needed."""

    def __init__(self, held: ExitStack, directory: Path) -> None:
        self._held = held
        self._directory = directory
        self._running: dict[str, Driver] = {}

    def __getitem__(self, client: Client) -> Driver:
        if client not in self._running:
            self._running[client] = self._held.enter_context(self._start(client))
        return self._running[client]

    def _start(self, client: Client) -> Driver:
        program = HERE / "drivers" / PROGRAMS[client]
        log = self._directory / f"{client}.log"
        if client == "python":
            return Driver(python("-W", "ignore", str(program)), environment({}), ROOT, log)
        environ = {**without_proxies(), "NODE_PATH": str(packages() / "node_modules")}
        return Driver([str(NODE), str(program)], environ, ROOT, log)


def packages() -> Path:
    """Where the TypeScript clients are installed."""
    try:
        return installed(HERE)
    except NotInstalled as missing:
        if os.environ.get("CI") == "true":
            pytest.fail(f"the TypeScript clients cannot be installed: {missing}")
        pytest.skip(f"THE TYPESCRIPT CLIENTS WERE NOT TRIED OUT, since they cannot be installed: {missing}")


@pytest.fixture(scope="session")
def drivers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Drivers]:
    """A driver of each client."""
    with ExitStack() as held:
        yield Drivers(held, tmp_path_factory.mktemp("drivers"))


@contextmanager
def serving(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, **settings: str
) -> Iterator[Fleet]:
    """Three processes on one Redis behind the hostile balancer, with short pages."""
    redis: SharedRedis = request.getfixturevalue("redis_server")
    with fresh_namespace(redis) as namespace:
        settings = {"REDIS_URL": redis.url, "NAMESPACE": namespace, "PAGE_SIZE": str(PAGE_SIZE), **settings}
        with Fleet(tmp_path_factory.mktemp("served"), 3, settings, SERVER) as fleet:
            yield fleet


@pytest.fixture(scope="session")
def served(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    """A fleet that all tests share."""
    with serving(request, tmp_path_factory, SSE="true") as fleet:
        yield fleet


@pytest.fixture(scope="session")
def _broken(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    with serving(request, tmp_path_factory, SSE="true", LEASE_SECONDS="1") as fleet:
        yield fleet


@pytest.fixture
def fragile(_broken: Fleet) -> Fleet:
    """A fleet whose processes a test may end; here each is alive again."""
    for number, process in enumerate(_broken.processes):
        if process.exit_code is not None:
            _broken.restart(number)
    return _broken


def where(subject: Subject, fleet: Fleet) -> Json:
    """What a driver is told to connect to."""
    if subject.transport == "stdio":
        command, *args = python("-m", "mcpfleet_service.cli", "stdio", SERVER)
        environ = environment({"MCPFLEET_PAGE_SIZE": str(PAGE_SIZE)})
        return {"kind": "stdio", "command": command, "args": args, "env": environ, "cwd": str(ROOT)}
    url = fleet.url if subject.transport == "http" else f"{fleet.balancer.url}/sse"
    return {"kind": subject.transport, "url": url}


@pytest.fixture
async def client(subject: Subject, drivers: Drivers, served: Fleet) -> AsyncIterator[Connection]:
    """The subject, connected to the fleet, or over stdio to a process of its own, which is slow to start, and stays."""
    driver, server = drivers[subject.client], where(subject, served)
    if subject.transport == "stdio":
        yield await driver.standing(server, era=subject.era)
    else:
        async with driver.connected(server, era=subject.era) as connection:
            yield connection
