"""One run of a task: its tool is served as its call would have been, and what it comes to is written on the record."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from mcpfleet.errors import TooLarge
from mcpfleet.protocol.jsonrpc import INTERNAL_ERROR, Request
from mcpfleet.protocol.jsontext import dumps, loads
from mcpfleet.protocol.wire import dress, renumber
from mcpfleet.server.caller import Caller
from mcpfleet.server.choice import Serving
from mcpfleet.server.failures import Failures
from mcpfleet.server.incoming import Incoming
from mcpfleet.server.outcome import STOPPED, Outcome, Refusal
from mcpfleet.server.outlet import Outlet
from mcpfleet.server.shim import Shim
from mcpfleet.server.tasks.attempt import Attempt, Stop
from mcpfleet.server.tasks.record import MAX_DEPTH, Record
from mcpfleet.server.tasks.store import Step, Tasks
from mcpfleet.server.tasks.verdict import EXPIRED
from mcpfleet.server.tasks.work import caller_of, request_of
from mcpfleet.server.visits import shown

Ending = Callable[[Record], Record]

NOT_BEGUN_SECONDS: Final = 1.0
"""How long a task waits after it could not be begun for want of durability."""
RESULT_TOO_LARGE: Final = Refusal(
    INTERNAL_ERROR, "The result is larger than the store takes.", {"reason": "result_too_large"}
)


@dataclass(frozen=True, slots=True)
class Run:
    """Serves tasks in the place of the requests that became them."""

    serving: Serving
    tasks: Tasks
    failures: Failures
    server_info: Mapping[str, Any]

    async def to_end(self, attempt: Attempt, outlet: Outlet, *, repeatable: bool) -> None:
        """Run the tool and write down what it came to, or that it could not; raises nothing of the tool's.

        `repeatable`: it may be begun again elsewhere if this process has to stop.
        """
        work = attempt.record.work
        request, caller = request_of(work, attempt.names.id), caller_of(work, attempt.names.id)
        outcome: Outcome = STOPPED
        if begins := attempt.stopped is None:
            outcome = await attempt.served(Shim(_Shown(self.serving, self.failures)).serve(request, caller, outlet))
        match attempt.stopped:
            case Stop.SUPERSEDED:
                return
            case Stop.NOT_BEGUN:
                await attempt.end(lambda record: self._given_back(attempt, record, within=NOT_BEGUN_SECONDS))
            case Stop.LEAVING if repeatable or not begins:
                await attempt.end(lambda record: self._given_back(attempt, record))
            case Stop.EXPIRED:
                await self._end(attempt, EXPIRED, request, caller)
            case _:
                await self._end(attempt, outcome, request, caller)

    async def _end(self, attempt: Attempt, outcome: Outcome, request: Request, caller: Caller) -> None:
        make = self._ending(outcome, request, caller)
        try:
            await attempt.end(lambda record: self.tasks.ended(attempt.names, make(record)))
        except TooLarge:
            await attempt.end(lambda record: self.tasks.ended(attempt.names, self._failed(record, RESULT_TOO_LARGE)))

    def _ending(self, outcome: Outcome, request: Request, caller: Caller) -> Ending:
        """How the record ends by this outcome: with the very result that its call would have had."""
        try:
            if isinstance(outcome, Refusal):
                refused = replace(outcome, code=renumber(outcome.code, caller.revision))
                _check([refused.message, refused.data])
                return lambda record: self._failed(record, refused)
            dressed = dress(
                outcome.result,
                caller.revision,
                server_info=self.server_info,
                cache=outcome.cache,
                output_schema=outcome.output_schema,
            )
            _check(dressed)
        except Exception as error:  # noqa: BLE001  # the boundary: whatever is in a result, its task has an end
            correlation = self.failures.note(error, Incoming.of(request, caller))
            refusal = Refusal.internal(correlation)
            return lambda record: self._failed(record, refusal)
        return lambda record: record.completed(dressed, self.tasks.clock())

    def _failed(self, record: Record, refusal: Refusal) -> Record:
        return record.failed(refusal, self.tasks.clock())

    def _given_back(self, attempt: Attempt, record: Record, *, within: float = 0.0) -> Step:
        released = record.released(self.tasks.clock(), counted=False)
        return self.tasks.given_back(attempt.names, released, within=within)


def _check(value: Any) -> None:
    """Raise `NotJson` for what could not be stored, or not be read again."""
    loads(dumps(value), max_depth=MAX_DEPTH)


@dataclass(frozen=True, slots=True)
class _Shown:
    """Makes of an error that names pages to be visited what a modern client understands."""

    serving: Serving
    failures: Failures

    async def serve(self, request: Request, caller: Caller, outlet: Outlet) -> Outcome:
        """Serve one round."""

        def failed(why: str) -> Refusal:
            correlation = self.failures.note(RuntimeError(why), Incoming.of(request, caller))
            return Refusal.internal(correlation)

        return shown(await self.serving.serve(request, caller, outlet), caller, caller.input_responses, failed)
