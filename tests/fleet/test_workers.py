"""The processes of one command: told apart by all others, and none of them does another's work again."""

import asyncio
from contextlib import aclosing
from pathlib import Path
from typing import Final

from mcpfleet.backplane.follow import follow
from mcpfleet.backplane.pulse import FLEET, Beat
from mcpfleet.backplane.redis import RedisBackplane
from mcpfleet.backplane.stored import unpack
from tests.processes import Serving, python
from tests.redis_server import SharedRedis
from tests.servers.tally import FILE
from tests.wire import EVERY, connected

WORKERS: Final = 4
SERVE: Final = python("-m", "mcpfleet_service.cli", "serve", "tests.servers.tally:server", "--workers", str(WORKERS))


async def test_each_worker_has_an_id_of_its_own_and_a_call_runs_once(
    redis_server: SharedRedis, namespace: str, tmp_path: Path
) -> None:
    """Ids that were minted before the fork would be one id, and every worker would take every message for its own."""
    environ = {
        "MCPFLEET_REDIS_URL": redis_server.url,
        "MCPFLEET_NAMESPACE": namespace,
        "MCPFLEET_PORT": "0",
        "MCPFLEET_DRAIN_DELAY": "0",
        FILE: str(tmp_path / "tally"),
    }
    async with RedisBackplane.at(redis_server.url, namespace=namespace) as backplane:
        begin = await backplane.open(FLEET, ttl=60)
        with Serving(SERVE, environ, tmp_path / "log") as serving:
            serving.await_greeting()
            ids: set[str] = set()
            async with asyncio.timeout(30), aclosing(follow(backplane, FLEET, begin, ttl=60)) as entries:
                async for entry in entries:
                    ids.add(unpack(Beat, entry.data).process)
                    if len(ids) == WORKERS:
                        break
            for date in EVERY:
                await tallied(serving.url, date)
            assert serving.stop() == 0
        beats = await backplane.read(FLEET, after=begin)
    assert {unpack(Beat, beat.data).process for beat in beats} == ids
    expected = sorted(f"{date} {turn}" for date in EVERY for turn in range(20))
    assert sorted((tmp_path / "tally").read_text().splitlines()) == expected


async def tallied(url: str, date: str) -> None:
    """Call the tool twenty times at once."""
    async with connected(url, date) as client:
        answers = await asyncio.gather(*(client.call("tally", what=f"{date} {turn}") for turn in range(20)))
    assert [answer.text for answer in answers] == [f"{date} {turn}" for turn in range(20)]
