"""The methods of tasks (the extension `io.modelcontextprotocol/tasks`): any process serves them, whoever runs the task.

Whether there is no such task, or it is another principal's, the answer is the same.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from mcpfleet.errors import MissingCapability, ProtocolError, TooLarge, Unavailable
from mcpfleet.protocol.jsonrpc import INVALID_PARAMS
from mcpfleet.protocol.tasks import EXTENSION
from mcpfleet.server.auth import owner_of
from mcpfleet.server.boundary import StoreAway
from mcpfleet.server.context import Context
from mcpfleet.server.outcome import Success
from mcpfleet.server.tasks.names import Names, names_of
from mcpfleet.server.tasks.record import Record
from mcpfleet.server.tasks.store import Step, Tasks, UnknownTask
from mcpfleet.server.tasks.view import detailed

MAX_ANSWERS: Final = 4 * 1024 * 1024
"""How many bytes all the answers to the questions of one task may have."""


class TaskMethods:
    """Reads and changes the records of tasks; keeps nothing."""

    def __init__(self, tasks: Tasks) -> None:
        self._tasks = tasks

    async def get(self, params: Mapping[str, Any], context: Context) -> Success:
        """Serve `tasks/get`: the task as it is now, with its result once it has one ("Task Polling")."""
        names = _names(params, context)
        try:
            found = await self._tasks.find(names.id)
        except UnknownTask:
            raise _unknown() from None
        except Unavailable:
            raise StoreAway from None
        _check_owner(found.record, context)
        return Success(detailed(found, poll=self._tasks.policy.poll))

    async def update(self, params: Mapping[str, Any], context: Context) -> Success:
        """Serve `tasks/update`: the task goes on once none of its questions is open ("Task Update Requests")."""
        names = _names(params, context)
        given = params.get("inputResponses")
        if not isinstance(given, dict) or not all(isinstance(answer, dict) for answer in given.values()):
            raise ProtocolError(INVALID_PARAMS, "params.inputResponses must be an object of objects")

        def answering(record: Record) -> Step | None:
            answered = record.answered(given, self._tasks.clock())
            if answered is record:
                return None
            if len(answered.answers) > MAX_ANSWERS:
                raise _too_large()
            # A run that waits for the answers hears of them by itself.
            waits = answered.status == "input_required" or answered.runner
            return Step(answered) if waits else self._tasks.queued(names, answered)

        return await self._change(names, context, answering)

    async def cancel(self, params: Mapping[str, Any], context: Context) -> Success:
        """Serve `tasks/cancel`: the task has ended with this, and its run hears of it ("Task Cancellation")."""
        names = _names(params, context)
        return await self._change(
            names, context, lambda record: self._tasks.ended(names, record.cancelled(self._tasks.clock()))
        )

    async def _change(self, names: Names, context: Context, make: Callable[[Record], Step | None]) -> Success:
        """Change a task that has not ended; the acknowledgement is empty, whether or not it had."""

        def change(record: Record) -> Step | None:
            _check_owner(record, context)
            return None if record.terminal else make(record)

        try:
            await self._tasks.change(names, change)
        except UnknownTask:
            raise _unknown() from None
        except TooLarge:
            raise _too_large() from None
        except Unavailable:
            raise StoreAway from None
        return Success({})


def _names(params: Mapping[str, Any], context: Context) -> Names:
    """The task that is asked for, by a client that knows what a task is."""
    if not context.takes_tasks:
        raise MissingCapability({"extensions": EXTENSION})
    task_id = params.get("taskId")
    names = names_of(task_id) if isinstance(task_id, str) else None
    if names is None:
        raise _unknown()
    return names


def _check_owner(record: Record, context: Context) -> None:
    if record.work.owner != owner_of(context.principal):
        raise _unknown()


def _unknown() -> ProtocolError:
    return ProtocolError(INVALID_PARAMS, "There is no such task, or no longer.")


def _too_large() -> ProtocolError:
    return ProtocolError(INVALID_PARAMS, "The answers are larger than what a task can keep.", {"reason": "too_large"})
