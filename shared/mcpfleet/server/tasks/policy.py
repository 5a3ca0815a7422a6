"""The times and bounds of tasks, in one place."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskPolicy:
    """How long tasks live and how many there may be; all durations are seconds."""

    ttl: float = 3600.0
    """How long a task and what it came to are kept from its creation, unless its tool says otherwise."""
    attempts: int = 3
    """How often a task may be begun whose runs break off, if its tool may run twice."""
    backoff: float = 1.0
    """How long after the first run that broke off the next one begins; doubled each time."""
    concurrency: int = 10
    """How many tasks one process runs at once; those that wait for their client do not count."""
    max_tasks: int | None = 10_000
    """How many tasks of the whole fleet may be unfinished."""
    max_tasks_each: int | None = 100
    """How many of them one principal may have; without authentication there is no such bound."""
    poll: float = 1.0
    """How often clients are told to ask."""
    queues: tuple[str, ...] = ()
    """Which queues this process runs tasks of: nothing of a later one while an earlier one has something.

    None named: all that its tools name, and `default` first.
    """
    worker: bool = False
    """Whether this process is of the worker tier; one that serves runs only tasks of queues that no such process runs
    tasks of."""
