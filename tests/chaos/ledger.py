"""What the clients of a chaos run did and saw: an entry for every call, question, event, subscription and session.

Times are seconds of one clock and given by whoever writes an entry. Nothing is judged here; `verdict` does that.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Final

from tests.chaos.faults import OF_REDIS, Kind
from tests.chaos.tasks.deeds import Deed
from tests.chaos.tasks.errand import Errand

EVERYBODY: Final = "everybody"
"""Whom an event concerns that is not one principal's own."""
CYCLE: Final = 8
"""How many resources the events of one owner are about, in turn: so each notice tells which of the last it is about."""
LINGERING_SECONDS: Final = 5.0
"""How long it may take to reach Redis again, once it is back or one has thawed: there are pauses between attempts."""
GAP: Final = "chaos:///gap"
"""A resource that every stream watches and no event is about: it is told only when all may have changed, and then
before the others, since its name is the first."""


class End(Enum):
    """How a call ended, for its client."""

    ANSWERED = "answered"
    REFUSED = "told to come back"
    CANCELLED = "cancelled"
    CUT = "cut off with nothing to resume from"
    UNSERVED = "nobody was there"
    GONE = "its session was gone"
    EMPTY = "ended without a response"
    OVERDUE = "did not end"


@dataclass(frozen=True, slots=True)
class Said:
    """A numbered message of a call: whose it says it is, and which."""

    principal: str
    tag: str
    number: int


@dataclass(frozen=True, slots=True)
class Response:
    """A response: a result says whose it is and what it brings; an error has a reason, and so has a tool's failure."""

    principal: str = ""
    tag: str = ""
    value: str = ""
    step: str = ""
    failure: str = ""


@dataclass(slots=True, eq=False)
class Call:
    """One call, from when it is sent to when its client knows its end, however many connections that takes."""

    principal: str
    tag: str
    tool: str
    began: float
    says: int = 0
    """How many numbered messages come before its result."""
    said: list[Said] = field(default_factory=list)
    responses: list[Response] = field(default_factory=list)
    cancelling: bool = False
    """Whether a cancel was sent."""
    cancelled: bool = False
    """Whether it was acknowledged before the call ended."""
    resumed: int = 0
    ended: float | None = None
    end: End | None = None


class Outcome(Enum):
    """What a client knows of an answer that it has given."""

    ACCEPTED = "accepted"
    REFUSED = "refused"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Given:
    """One answer to a question, and what became of it; `again` if it is one that was accepted before."""

    value: str
    outcome: Outcome
    again: bool = False


@dataclass(slots=True, eq=False)
class Question:
    """One question of a call to its client; `step` is what the handler had done once before it asked, if that is
    told."""

    call: Call
    step: str = ""
    given: list[Given] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class Event:
    """One change that was published; without `acknowledged` nobody knows whether it was."""

    owner: str
    serial: int
    began: float
    acknowledged: float | None = None

    @property
    def uri(self) -> str:
        """What has changed."""
        return uri_of(self.owner, self.serial)


@dataclass(frozen=True, slots=True)
class Notice:
    """A stream told that a resource has changed."""

    at: float
    uri: str


@dataclass(slots=True, eq=False)
class Subscription:
    """One principal's watching of everything: a session with its GET streams, or one modern stream.

    A list of notices for each connection. A resumable one must miss nothing between two of them.
    """

    principal: str
    resumable: bool
    began: float
    acknowledged: float
    closed: float | None = None
    connections: list[list[Notice]] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class Session:
    """One legacy session: when it was ended by its client, and when it was not found."""

    principal: str
    began: float
    ended: float | None = None
    gone: float | None = None
    outlived: bool = False
    """Whether it was served after its end had been acknowledged."""


@dataclass(frozen=True, slots=True)
class Intrusion:
    """An attempt upon what is another principal's, and whether it succeeded."""

    what: str
    succeeded: bool


@dataclass(frozen=True, slots=True)
class Silence:
    """A connection on which nothing came for as long as its client had patience."""

    began: float
    ended: float


@dataclass(slots=True, eq=False)
class Breakage:
    """A fault that happened, and when its cause was over; a kill is over at once."""

    kind: Kind
    slot: int
    began: float
    ended: float | None = None


class Ledger:
    """All entries of one run."""

    def __init__(self) -> None:
        self.calls: list[Call] = []
        self.questions: list[Question] = []
        self.events: list[Event] = []
        self.subscriptions: list[Subscription] = []
        self.sessions: list[Session] = []
        self.errands: list[Errand] = []
        self.deeds: Sequence[Deed] = ()
        """What the runs of the errands have noted."""
        self.intrusions: list[Intrusion] = []
        self.silences: list[Silence] = []
        self.breakages: list[Breakage] = []
        self.overdue: list[str] = []
        """Requests that are no calls, and were never answered however often they were sent."""
        self.strays: list[str] = []
        """What was still at work in a process after the last client had gone."""
        self.deaths: list[str] = []
        """Processes that ended by themselves, or not as they were told to."""

    def broken(self, kinds: Collection[Kind], began: float, ended: float) -> bool:
        """Whether one of these faults could be felt between two times."""
        return any(each.kind in kinds and each.began <= ended and began <= self._over(each) for each in self.breakages)

    def store_away(self, began: float, ended: float) -> bool:
        """Whether a process may not have reached Redis between two times: Redis was away, or the process frozen."""
        return self.broken(OF_REDIS, began, ended) or self.broken({Kind.FREEZE}, began - LINGERING_SECONDS, ended)

    def emptied(self, since: float) -> Iterable[float]:
        """When Redis was emptied after this time."""
        return (each.began for each in self.breakages if each.kind is Kind.REDIS_EMPTY and self._over(each) >= since)

    def _over(self, breakage: Breakage) -> float:
        """When it can be felt no more: what is Redis's, not before Redis could be reached for a while again."""
        if breakage.ended is None:
            return float("inf")
        if breakage.kind not in OF_REDIS:
            return breakage.ended
        over = breakage.ended + LINGERING_SECONDS
        for later in self.breakages:
            if later.kind in OF_REDIS and breakage.began < later.began <= over:
                over = float("inf") if later.ended is None else max(over, later.ended + LINGERING_SECONDS)
        return over


def uri_of(owner: str, serial: int) -> str:
    """Which resource an owner's event is about."""
    return f"chaos://{owner}/{serial % CYCLE}"
