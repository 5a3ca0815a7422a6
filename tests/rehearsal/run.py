"""One rehearsal: clients of all kinds, two versions of a server one after the other, and a proxy between them."""

import asyncio
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from mcpfleet.protocol.meta import SERVER_INFO
from tests.chaos.ledger import End, Ledger
from tests.chaos.principals import PRINCIPALS
from tests.chaos.report import report
from tests.chaos.run import callers_of, watchers_of
from tests.chaos.stage import Stage, Times
from tests.chaos.tasks import deeds
from tests.chaos.verdict import judge
from tests.chaos.watchers import watched_by_all
from tests.chart.manifests import Manifest, of_kind, part
from tests.redis_server import RedisServer
from tests.rehearsal.pods import Deployment
from tests.rehearsal.proxies import Haproxy, Nginx, Proxy
from tests.wire import MODERN, Client

PODS: Final = 3
OLD, NEW = "1.0.0", "2.0.0"
PROXIES: Final[Mapping[str, Callable[[Path, Mapping[str, str]], Proxy]]] = {"nginx": Nginx, "haproxy": Haproxy}
SETTINGS: Final = {"PORT": "0", "NAMESPACE": "rehearsal", "TASK_POLL_SECONDS": "0.5", "TASK_ATTEMPTS": "1000"}
BROKEN: Final = (End.CUT, End.UNSERVED, End.GONE, End.EMPTY, End.OVERDUE)
"""How no call may end when nothing but a deploy happens."""


@dataclass(slots=True)
class Rehearsed:
    """What a rehearsal came to."""

    ledger: Ledger
    settle: float
    versions: set[str] = field(default_factory=set)
    faults: list[str] = field(default_factory=list)
    rolled: bool = True

    @property
    def findings(self) -> list[str]:
        """Everything that is wrong."""
        broken = [
            f"{call.tag} of {call.principal}: {call.end.value}" for call in self.ledger.calls if call.end in BROKEN
        ]
        most = 3 * PODS if self.rolled else 1
        cut = [
            f"a stream of {one.principal} took {len(one.connections)} connections"
            for one in self.ledger.subscriptions
            if len(one.connections) > most
        ]
        return [*map(str, judge(self.ledger, settle=self.settle)), *broken, *cut, *self.faults]

    def lines(self) -> Iterator[str]:
        """What is printed."""
        yield f"versions that served: {', '.join(sorted(self.versions))}"
        yield from self.findings
        yield from report(self.ledger, self.settle)


async def rehearse(
    manifests: list[Manifest],
    proxy: str,
    directory: Path,
    redis: RedisServer,
    *,
    seed: int = 1,
    calm: float = 1.0,
    seconds: float | None = None,
) -> Rehearsed:
    """Roll a new version out under load, as these manifests say; `calm` seconds pass before and after it.

    With `seconds` nothing is rolled out, and the load lasts as long as that.
    """
    (ingress,) = of_kind(manifests, "Ingress")
    manifest, times = part(manifests, "server"), Times()
    assert manifest is not None
    ledger = Ledger()
    rehearsed = Rehearsed(ledger, times.settle, rolled=seconds is None)
    environ = {f"MCPFLEET_{name}": value for name, value in {**SETTINGS, "REDIS_URL": redis.url}.items()}
    with PROXIES[proxy](directory, ingress["metadata"]["annotations"]) as front:
        deployment = Deployment(manifest, front, directory, {**environ, deeds.FILE: str(directory / deeds.FILE)})
        try:
            await deployment.start(PODS, OLD)
            url = urlsplit(front.url)
            stage = Stage(str(url.hostname), int(url.port or 0), seed, ledger, times)
            await _play(stage, deployment, rehearsed, front.url, calm, seconds)
            await deployment.stop()
        finally:
            deployment.close()
    rehearsed.faults += deployment.faults
    ledger.deeds = deeds.read(directory / deeds.FILE)
    return rehearsed


async def _play(
    stage: Stage, deployment: Deployment, rehearsed: Rehearsed, url: str, calm: float, seconds: float | None
) -> None:
    async with asyncio.TaskGroup() as watching:
        watchers = [watching.create_task(each.run()) for each in watchers_of(stage, watched_by_all(PRINCIPALS))]
        asking = watching.create_task(_ask_who_serves(url, rehearsed.versions))
        async with asyncio.TaskGroup() as calling:
            for client in callers_of(stage):
                calling.create_task(client.run())
            if seconds is None:
                await asyncio.sleep(calm)
                await deployment.roll(NEW)
                await asyncio.sleep(calm)
            else:
                await asyncio.sleep(seconds)
            stage.over.set()
        await asyncio.sleep(1)
        for each in (*watchers, asking):
            each.cancel()


async def _ask_who_serves(url: str, versions: set[str]) -> None:
    """Note the version of whoever answers, again and again."""
    headers = {"Authorization": f"Bearer {PRINCIPALS[0]}"}
    async with Client(f"{url}/mcp", MODERN, headers) as client:
        while True:
            answer = await client.request("server/discover")
            versions.add(str(answer.result["_meta"][SERVER_INFO]["version"]))
            await asyncio.sleep(0.1)
