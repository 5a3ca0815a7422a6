"""Servers for the tests of the client, and every way to them."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import pytest

from mcpfleet.client.client import Client
from mcpfleet.client.target import Target
from mcpfleet.client.transports.stdio import StdioTransport
from tests.fleets import Fleet
from tests.processes import ROOT, environment, python
from tests.redis_server import SharedRedis, fresh_namespace
from tests.wire import EVERY, LEGACY, MODERN

SERVER: Final = "tests.servers.everything:server"
PAGE_SIZE: Final = 10


@dataclass(frozen=True, slots=True)
class Way:
    """How a client reaches a server, and what it is told to speak."""

    transport: str
    mode: str

    def __str__(self) -> str:
        return f"{self.transport}-{self.mode}"

    @property
    def modern(self) -> bool:
        return self.mode in ("auto", "modern", MODERN)

    def client(self, fleet: Fleet, **options: object) -> Client:
        """A client that is not connected yet."""
        target: str | Target = fleet.url if self.transport == "http" else by_command()
        return Client(target, mode=self.mode, **options)  # type: ignore[arg-type]  # options of any kind


def by_command(server: str = SERVER) -> Target:
    """A server in a process of its own."""
    command = python("-m", "mcpfleet_service.cli", "stdio", server)
    environ = environment({"MCPFLEET_PAGE_SIZE": str(PAGE_SIZE)})
    return Target(open=lambda: StdioTransport(command, environ=environ, directory=ROOT))


WAYS: Final = [Way(transport, mode) for transport in ("http", "stdio") for mode in ("auto", "legacy")]
ALL_WAYS: Final = [*WAYS, *(Way("http", date) for date in EVERY), *(Way("stdio", date) for date in LEGACY)]


@pytest.fixture(scope="session")
def fleet(redis_server: SharedRedis, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    """Three processes behind the hostile balancer, with short pages; not to be broken."""
    with fresh_namespace(redis_server) as namespace:
        settings = {"REDIS_URL": redis_server.url, "NAMESPACE": namespace, "PAGE_SIZE": str(PAGE_SIZE), "SSE": "true"}
        with Fleet(tmp_path_factory.mktemp("clients"), 3, settings, SERVER) as started:
            yield started


@pytest.fixture(params=WAYS, ids=str)
def way(request: pytest.FixtureRequest) -> Way:
    """Each transport, in each era."""
    found: Way = request.param
    return found
