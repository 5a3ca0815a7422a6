"""One process that spends quotas as lines on stdin say, each answered by a line: `python -m tests.backplane.spender`.

    join URL LIMIT WINDOW PROCESSES [resent]    -> joined
    spend TIMES                                 -> how many of so many events at once were allowed, and the longest wait
    leave                                       -> left

PROCESSES is how many share the limit as far as it knows. With `resent` every command is sent twice: its reply was lost,
or it was lost itself, or it arrives after its repetition.
"""

import asyncio
import itertools
import sys
from typing import Final

from mcpfleet.backplane.faults import Doubtful, Fate
from mcpfleet.backplane.limits import Quota
from mcpfleet.backplane.redis import RedisBackplane

MISHAPS: Final = (Fate.UNANSWERED, Fate.LOST, Fate.LATE)


async def told() -> list[str]:
    """The words of the next line; none at the end."""
    line: str = await asyncio.to_thread(sys.stdin.readline)
    return line.split()


def say(*words: object) -> None:
    print(*words, flush=True)


async def join(url: str, limit: str, window: str, processes: str, *mishaps: str) -> None:
    """Spend of one quota until told to leave."""
    doubtful = Doubtful()

    def quota(of: Doubtful) -> Quota:
        return Quota(
            of.view(backplane), "calls", limit=int(limit), window=float(window), processes=lambda: int(processes)
        )

    async with RedisBackplane.at(url, namespace="spent") as backplane:
        say("joined")
        alone = quota(doubtful)
        while (words := await told())[0] == "spend":
            times = int(words[1])
            doubts = [Doubtful([fate]) for fate in itertools.islice(itertools.cycle(MISHAPS), times)] if mishaps else []
            quotas = [quota(doubt) for doubt in doubts] or [alone] * times
            waits = await asyncio.gather(*(each.spend("alice") for each in quotas))
            for doubt in doubts:
                await doubt.deliver()
            say(waits.count(0.0), max(waits))
    say("left")


async def main() -> None:
    while words := await told():
        await join(*words[1:])


if __name__ == "__main__":
    asyncio.run(main())
