"""What a client had done for it as a task, and all that it was told of it: an entry of the ledger for each."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from random import Random
from typing import Final

from mcpfleet.protocol.messages.tasks import TERMINAL
from tests.chaos.wire import Json


class Fate(Enum):
    """What its client does about a task."""

    AWAIT = "await"
    """See it to its end, and answer all that it asks."""
    CANCEL = "cancel"
    """Cancel it after a while."""
    NEGLECT = "neglect"
    """Watch it run out of time."""


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of errand: `share` of all, of a tool that may run twice or may not, and asks so many questions."""

    tool: str
    share: int
    repeatable: bool = True
    fate: Fate = Fate.AWAIT
    steps: int = 0
    questions: int = 0

    def __str__(self) -> str:
        return self.tool if self.fate is not Fate.CANCEL else f"{self.tool}, cancelled"


KINDS: Final = (
    Kind("compute", 5),
    Kind("climb", 3, steps=3),
    Kind("ask_two", 3, steps=2, questions=2),
    Kind("once", 4, repeatable=False),
    Kind("ask_once", 1, repeatable=False, questions=1),
    Kind("compute", 1, fate=Fate.CANCEL),
    Kind("endless", 1, fate=Fate.CANCEL),
    Kind("late", 1, fate=Fate.NEGLECT),
    Kind("ask_in_vain", 1, fate=Fate.NEGLECT, questions=1),
)


@dataclass(frozen=True, slots=True)
class Wish:
    """What a client is about to have done."""

    number: int
    kind: Kind
    seconds: float
    """How long its run takes, more or less."""
    follows: bool
    """Whether its client listens, too."""


def wishes(seed: int, count: int) -> Sequence[Wish]:
    """So many of them, of every kind its share, in an order that the seed decides."""
    random = Random(f"{seed}/wishes")
    kinds = [kind for kind in KINDS for _ in range(kind.share)]
    chosen = [kinds[number % len(kinds)] for number in range(count)]
    random.shuffle(chosen)
    return [
        Wish(number, kind, random.choice([0.0, 0.3, 0.6, 1.5]), follows=random.random() < 0.3)
        for number, kind in enumerate(chosen)
    ]


@dataclass(frozen=True, slots=True)
class Sight:
    """What a client was told of its task, when it asked, and when it was told; None: there is no such task."""

    asked: float
    at: float
    task: Json | None

    @property
    def status(self) -> str:
        """Empty: there is no such task."""
        return "" if self.task is None else str(self.task["status"])

    @property
    def terminal(self) -> bool:
        """Whether that is how it ended."""
        return self.status in TERMINAL


@dataclass(slots=True, eq=False)
class Errand:
    """One call that was to become a task, under a tag of its own."""

    principal: str
    tag: str
    kind: Kind
    began: float
    task_id: str = ""
    """Empty: its client was never told that it was made."""
    got: list[Sight] = field(default_factory=list)
    """By `tasks/get`."""
    heard: list[Sight] = field(default_factory=list)
    """On a `subscriptions/listen` stream."""
    asked: dict[str, set[str]] = field(default_factory=dict)
    """The words of its questions, by key."""
    answered: dict[str, float] = field(default_factory=dict)
    """When which answer was acknowledged, by key."""
    cancelled: float | None = None
    """When its cancel was acknowledged."""
    refused: list[float] = field(default_factory=list)
    """When its client was told to come back."""
    follows: bool = False
    overdue: bool = False
    ended: float | None = None

    @property
    def end(self) -> Json | None:
        """How it ended, as its client was first told."""
        return next((sight.task for sight in self.got if sight.terminal), None)

    @property
    def reason(self) -> str:
        """Why it failed, if it did."""
        error: Mapping[str, Json] = (self.end or {}).get("error", {})
        return str(error.get("data", {}).get("reason", error.get("message", "")))
