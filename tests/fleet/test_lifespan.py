"""A lifespan is entered once in each process, and its functions find what it yields, in either era."""

import re

from tests.fleets import Launch
from tests.wire import EVERY, connected

CALLS = 3


async def test_each_process_enters_it_once_and_leaves_it_at_its_end(launch_fleet: Launch) -> None:
    fleet = launch_fleet(3, server="tests.servers.hooked:server")
    seen: set[int] = set()
    for date in EVERY:
        async with connected(fleet.url, date) as client:
            for _ in range(CALLS):
                told = (await client.call("lived")).value
                assert (told["made"], told["entered"]) == (told["pid"], 1)
                seen.add(told["pid"])
    assert len(seen) == 3
    served = 0
    for process in fleet.processes:
        assert process.stop() == 0
        [(pid, calls)] = re.findall(r"process (\d+) left its lifespan after (\d+)", process.log_tail())
        seen.remove(int(pid))
        served += int(calls)
    assert served == CALLS * len(EVERY)
