"""Fleets under test: real server processes on a real Redis, behind the hostile balancer."""

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Self

import pytest

from tests.balancer import Balancer
from tests.processes import Serving, python
from tests.redis_server import SharedRedis, connect, fresh_namespace

SERVER = "tests.servers.basic:server"
COMMAND = (*python("-m", "mcpfleet_service.cli", "serve"),)
WORK = python("-m", "mcpfleet_service.cli", "work")
WORKING = "working as"
"""What a worker logs once it takes tasks."""
NO_QUEUE = "nothing"
"""A queue of no tool: whoever takes from it alone runs no task."""


@dataclass(frozen=True, slots=True)
class Shape:
    """How many processes, and what they share; several always share a Redis."""

    backplane: Literal["memory", "redis"]
    processes: Literal[1, 3]

    def __str__(self) -> str:
        return f"{self.backplane}-{self.processes}"


SHAPES = (Shape("memory", 1), Shape("redis", 1), Shape("redis", 3))


class Fleet:
    """Server processes and the balancer before them, and workers beside them, for the time of the `with` block.

    Requests go to `url`; `processes[i].url` goes round the balancer. Where there are workers, nobody else runs tasks. A
    process that a test has not ended itself must end with exit code 0.
    """

    def __init__(
        self,
        directory: Path,
        count: int,
        settings: Mapping[str, str],
        server: str = SERVER,
        command: Sequence[str] = COMMAND,
        workers: int = 0,
    ) -> None:
        """`settings` are variables without their prefix; `command` serves what the variables say."""
        self.processes: list[Serving] = []
        self.workers: list[Serving] = []
        self.balancer: Balancer
        self._directory = directory
        self._count = count
        self._settings = {
            "APP": server,
            "PORT": "0",
            "NAMESPACE": "fleet-under-test",
            "DRAIN_DELAY": "0",
            "DRAIN_SECONDS": "5",
            **settings,
        }
        self._command = command
        self._worker_count = workers
        self._started = 0

    @property
    def redis_url(self) -> str:
        """What its processes share."""
        return self._settings["REDIS_URL"]

    @property
    def namespace(self) -> str:
        """How its keys begin."""
        return self._settings["NAMESPACE"]

    @property
    def url(self) -> str:
        """The MCP endpoint behind the balancer."""
        return self.balancer.url + self._settings.get("PATH", "/mcp")

    def stored_keys(self) -> set[bytes]:
        """All that it holds in Redis now, but for what its processes know each other by."""
        with connect(self.redis_url) as client:
            found = set(client.scan_iter(f"{self.namespace}:*", count=1000))
        return {key for key in found if b"{fleet}" not in key}

    def restart(self, process: int, *, server: str | None = None) -> None:
        """Kill the process if it runs, and start another in its place; every one from now on serves this server."""
        if server is not None:
            self._settings["APP"] = server
        with self.processes[process]:
            pass
        self.processes[process] = self._start().await_greeting()
        self.balancer.replace(process, self.processes[process].url)

    def restart_worker(self, worker: int) -> None:
        """Kill the worker if it runs, and start another in its place."""
        with self.workers[worker]:
            pass
        self.workers[worker] = self._start_worker().await_log(WORKING)

    def logs(self) -> str:
        """The end of what each process has written so far."""
        return "\n".join(f"--- {each.log.stem}\n{each.log_tail()}" for each in (*self.processes, *self.workers))

    def __enter__(self) -> Self:
        with ExitStack() as started:
            self.processes += [started.enter_context(self._start()) for _ in range(self._count)]
            self.workers += [started.enter_context(self._start_worker()) for _ in range(self._worker_count)]
            for worker in self.workers:
                worker.await_log(WORKING)
            self.balancer = Balancer([process.await_greeting().url for process in self.processes])
            self.balancer.__enter__()
            started.pop_all()
        return self

    def __exit__(self, failure: type[BaseException] | None, *_: object) -> None:
        with ExitStack() as held:
            every = (*self.processes, *self.workers)
            for process in every:
                held.push(process)
            self.balancer.__exit__()
            running = [process for process in every if process.exit_code is None]
            for process in running:
                process.thaw()
                process.terminate()
            codes = [process.await_exit() for process in running]
        assert failure or not any(codes), f"exit codes {codes}:\n{self.logs()}"

    def _start(self) -> Serving:
        taking = {"TASK_QUEUES": NO_QUEUE} if self._worker_count else {}
        return self._run("process", self._command, {**self._settings, **taking})

    def _start_worker(self) -> Serving:
        return self._run("worker", WORK, self._settings)

    def _run(self, kind: str, command: Sequence[str], settings: Mapping[str, str]) -> Serving:
        log = self._directory / f"{kind}-{self._started}.log"
        self._started += 1
        return Serving(command, {f"MCPFLEET_{name}": value for name, value in settings.items()}, log)


class Launch:
    """Starts the fleets of one test or module.

    `launch(3)`; `launch(3, 2)` with two workers; `launch(3, redis_url=own_redis.url, LEASE_SECONDS="1")`.
    """

    def __init__(self, held: ExitStack, directory: Path, shared: Callable[[], SharedRedis]) -> None:
        self.fleets: list[Fleet] = []
        self._held = held
        self._directory = directory
        self._shared = shared

    def __call__(
        self,
        processes: int,
        workers: int = 0,
        /,
        *,
        redis_url: str | None = None,
        server: str = SERVER,
        **settings: str,
    ) -> Fleet:
        """A running fleet on the given Redis, else in a namespace of its own of the shared one; until the fixture ends.

        `settings` are variables without their prefix.
        """
        directory = self._directory / f"fleet-{len(self.fleets)}"
        directory.mkdir()
        if redis_url is None:
            shared = self._shared()
            settings = {"NAMESPACE": self._held.enter_context(fresh_namespace(shared)), **settings}
            redis_url = shared.url
        fleet = self._held.enter_context(
            Fleet(directory, processes, {"REDIS_URL": redis_url, **settings}, server, workers=workers)
        )
        self.fleets.append(fleet)
        return fleet


@pytest.fixture(scope="session", params=SHAPES, ids=str)
def fleet(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    """A fleet that many tests share, in each shape; not to be broken or reconfigured."""
    with standing_fleet(request, tmp_path_factory, SERVER) as started:
        yield started


@contextmanager
def standing_fleet(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, server: str, **settings: str
) -> Iterator[Fleet]:
    """A fleet in the shape that the fixture's parameter asks for."""
    shape: Shape = request.param
    with ExitStack() as held:
        if shape.backplane == "redis":
            redis: SharedRedis = request.getfixturevalue("redis_server")
            settings = {"REDIS_URL": redis.url, "NAMESPACE": held.enter_context(fresh_namespace(redis)), **settings}
        directory = tmp_path_factory.mktemp(str(shape))
        yield held.enter_context(Fleet(directory, shape.processes, settings, server))


@pytest.fixture
def launch_fleet(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Launch]:
    """Start fleets of the test's own, to be killed, frozen, reconfigured."""
    with ExitStack() as held:
        yield Launch(held, tmp_path, lambda: request.getfixturevalue("redis_server"))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Show what the processes said when a test with a fleet fails."""
    report = yield
    arguments: dict[str, Any] = getattr(item, "funcargs", {})
    if report.failed:
        for value in arguments.values():
            fleets = [value] if isinstance(value, Fleet) else value.fleets if isinstance(value, Launch) else []
            report.sections += [("processes of the fleet", each.logs()) for each in fleets]
    return report


@pytest.fixture(scope="module")
def launch_for_module(redis_server: SharedRedis, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Launch]:
    """Start fleets that the tests of one module share; not to be broken or reconfigured."""
    with ExitStack() as held:
        yield Launch(held, tmp_path_factory.mktemp("fleets"), lambda: redis_server)
