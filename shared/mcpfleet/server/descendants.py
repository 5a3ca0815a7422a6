"""The processes that this one has started, and those that they have started, down to the last.

Where the system does not tell of them, on others than Linux, none is found.
"""

import os
import select
import signal
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

PROCESSES: Final = Path("/proc")
DYING_SECONDS: Final = 1.0
"""How long to wait for the end of what was killed: the system may be busy, and what hangs in it ends later."""


def end(*, grace: float) -> None:
    """End every descendant: they are asked to, and after `grace` seconds made to.

    What was put into a session of its own is let be: it is meant to go on alone.
    """
    # Held before any of them ends: its own children are nobody's descendants then.
    held = [*_held(living())]
    _tell(held, signal.SIGTERM)
    left = _left(held, grace)
    _tell(left, signal.SIGKILL)
    _left(left, DYING_SECONDS)
    for process in held:
        os.close(process)


def living() -> Iterator[int]:
    """The process id of every descendant that has not ended and is in the session of this process."""
    children: defaultdict[int, list[int]] = defaultdict(list)
    for process, parent in _in_session(os.getsid(0)):
        children[parent].append(process)
    rest = [os.getpid()]
    while rest:
        found = children[rest.pop()]
        rest += found
        yield from found


def _in_session(session: int) -> Iterator[tuple[int, int]]:
    """Every living process of the session, and its parent."""
    for file in PROCESSES.glob("[0-9]*/stat"):
        with suppress(OSError):  # it has ended meanwhile
            state, parent, _group, its_session, *_ = file.read_text().rpartition(") ")[2].split()
            if int(its_session) == session and state != "Z":
                yield int(file.parent.name), int(parent)


def _held(processes: Iterator[int]) -> Iterator[int]:
    """Descriptors of processes, which mean no others even when these have ended."""
    for process in processes:
        with suppress(ProcessLookupError):
            yield os.pidfd_open(process)


def _tell(held: list[int], number: signal.Signals) -> None:
    for process in held:
        with suppress(ProcessLookupError, PermissionError):  # it has ended, or become somebody else's
            signal.pidfd_send_signal(process, number)


def _left(held: list[int], grace: float) -> list[int]:
    """Which of the held processes still live after so many seconds."""
    ends = select.poll()
    for process in held:
        ends.register(process, select.POLLIN)
    left, deadline = set(held), time.monotonic() + grace
    while left and (seconds := deadline - time.monotonic()) > 0:
        for process, _ in ends.poll(seconds * 1000):
            ends.unregister(process)
            left.discard(process)
    return [*left]
