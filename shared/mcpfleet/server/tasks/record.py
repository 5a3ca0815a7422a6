"""What is stored of a task, and how it changes: every change makes a new record of the old one, and none ends twice.

A record is working, or waits for input, until it is terminal; then it never changes again. Whoever runs it is named by
a token of that attempt alone, so that one who was believed dead, and wakes, finds that the record is no longer his.
"""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from mcpfleet.protocol.jsontext import dumps, loads
from mcpfleet.protocol.messages.tasks import TERMINAL, Status
from mcpfleet.server.outcome import Refusal

GRACE: Final = 60.0
"""For so many seconds after its end of life a task can still be asked what became of it."""
MAX_DEPTH: Final = 256
"""Of what was checked when it came."""

Json = Mapping[str, Any]


class Work(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What is to be done, and for whom; JSON as text, which any integer fits into."""

    tool: str
    owner: tuple[str, str, str]
    params: bytes
    """The params of the call, `_meta` among them."""
    caller: bytes
    """What the client said of itself, and who it was found to be."""
    memory: bytes
    """What the call had come to before it became a task."""
    queue: str


class Record(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One task; times are Unix seconds."""

    work: Work
    created: float
    ttl: float
    updated: float
    status: Status = "working"
    message: str | None = None
    attempt: int = 0
    runner: str = ""
    """The token of the attempt that runs now; empty: nobody runs it."""
    open: bytes = b"{}"
    """The questions that wait for an answer, by key."""
    answers: bytes = b"{}"
    steps: bytes = b"{}"
    closed: tuple[str, ...] = ()
    """The keys of questions that were given up: they are never answered, and never asked again."""
    result: bytes | None = None
    error: bytes | None = None

    @property
    def terminal(self) -> bool:
        """Whether it never changes again."""
        return self.status in TERMINAL

    @property
    def ends(self) -> float:
        """When its time is up."""
        return self.created + self.ttl

    def life(self, now: float) -> float:
        """For how many seconds from now it is kept."""
        return max(GRACE, self.ends + GRACE - now)

    @property
    def questions(self) -> dict[str, Any]:
        """The questions that wait for an answer."""
        return _read(self.open)

    def answer(self, key: str) -> Json | None:
        """What the client has answered to this question; None: nothing yet."""
        found: Json | None = _read(self.answers).get(key)
        return found

    def claimed(self, runner: str, now: float) -> "Record":
        """In the hands of a new attempt."""
        return self._changed(now, attempt=self.attempt + 1, runner=runner)

    def released(self, now: float, *, counted: bool) -> "Record":
        """In nobody's hands; an attempt that was given back in good order is not counted."""
        return self._changed(now, runner="", attempt=self.attempt if counted else self.attempt - 1)

    def asking(self, key: str, question: Json, now: float) -> "Record":
        """Waiting for the client to answer this, beside what it waits for already."""
        return self._changed(now, status="input_required", open=dumps(self.questions | {key: question}))

    def answered(self, given: Mapping[str, Json], now: float) -> "Record":
        """With those of the answers that were waited for; it goes on working once nothing is missing."""
        questions = self.questions
        fitting = {key: answer for key, answer in given.items() if key in questions}
        if not fitting:
            return self
        answers = dumps(_read(self.answers) | fitting)
        return self._without(fitting, now, answers=answers)

    def given_up(self, key: str, now: float) -> "Record":
        """No longer waiting for this answer, which then comes too late for good."""
        return self._without((key,), now, closed=(*self.closed, key))

    def stepped(self, key: str, value: Any, now: float) -> "Record":
        """With what a step has come to."""
        return self._changed(now, steps=dumps(_read(self.steps) | {key: value}))

    def step(self, key: str) -> tuple[Any] | None:
        """What a step has come to, alone in a tuple; None: it was not done yet."""
        steps = _read(self.steps)
        return (steps[key],) if key in steps else None

    def completed(self, result: Json, now: float) -> "Record":
        """Ended with the result of its call, which may well be an error of the tool's."""
        return self._ended("completed", now, result=dumps(result))

    def failed(self, refusal: Refusal, now: float) -> "Record":
        """Ended by an error of the protocol ("Task Execution Errors")."""
        error = {"code": refusal.code, "message": refusal.message}
        if refusal.data is not None:
            error["data"] = refusal.data
        return self._ended("failed", now, message=refusal.message, error=dumps(error))

    def cancelled(self, now: float) -> "Record":
        """Ended since the client wanted no more of it."""
        return self._ended("cancelled", now)

    def _without(self, keys: Any, now: float, **changes: Any) -> "Record":
        left = {key: question for key, question in self.questions.items() if key not in keys}
        return self._changed(now, status="input_required" if left else "working", open=dumps(left), **changes)

    def _ended(self, status: Status, now: float, **changes: Any) -> "Record":
        return self._changed(now, status=status, runner="", open=b"{}", steps=b"{}", answers=b"{}", **changes)

    def _changed(self, now: float, **changes: Any) -> "Record":
        if self.terminal:
            raise ValueError(f"a task that is {self.status} changes no more")
        return msgspec.structs.replace(self, updated=max(now, self.updated), **changes)


def _read(text: bytes) -> dict[str, Any]:
    read: dict[str, Any] = loads(text, max_depth=MAX_DEPTH)
    return read
