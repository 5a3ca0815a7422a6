"""The times and bounds of the engine, in one place."""

from dataclasses import dataclass, field

from mcpfleet.protocol.revisions import Revision
from mcpfleet.server.exchange import Retention
from mcpfleet.server.tasks.policy import TaskPolicy


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """How long things live and how many there may be; all durations are seconds."""

    session_idle: float = 1800.0
    """How long an unused session lives; open streams and running calls renew it, every `lease / 3` at most."""
    max_sessions: int | None = 10_000
    max_processes: int | None = None
    """How many processes the fleet is meant to have; None: as many as there are."""
    lease: float = 7.5
    """How long a call is believed alive after its process was last heard of."""
    stream_after: float = 0.25
    """How long a legacy call may run before its response becomes a stream."""
    answer_within: float = 600.0
    """How long a client may take to answer a question, unless the question says otherwise."""
    state_ttl: float = 300.0
    """How long a modern client may take to come back with answers, unless a question says otherwise; a day at most."""
    replay_within: float = 5.0
    """How long a handler may take to ask again what it asked in earlier rounds, before it counts as another one."""
    key_encryption_key: bytes | None = field(default=None, repr=False)
    """The key of 32 bytes that wraps the keys of the fleet in the store."""
    hold: float = 60.0
    """How long a finished call keeps its result while the store is away."""
    retention: Retention = field(default_factory=Retention)
    """How long, and how far back, a stream can be resumed."""
    spread: float = 2.0
    """Over how long the streams of a process are told what all must hear at once, since their clients will all ask."""
    gather: float = 0.05
    """Of what changes within so many seconds, a listen stream is told once."""
    max_listens: int | None = 1000
    """How many listen streams a process has open at once."""
    handshake: Revision | None = None
    """The only revision that handshakes agree on; None: whichever the client asks for."""
    drain: float = 30.0
    """How long calls may go on once the process was told to stop."""
    workers: int = 40
    """How many synchronous tools run at once."""
    waiting: int = 200
    """How many more synchronous calls may wait for a thread; beyond that they are refused."""
    page_size: int | None = None
    """How many items a page of a list has; None: all of them."""
    tasks: TaskPolicy = field(default_factory=TaskPolicy)
