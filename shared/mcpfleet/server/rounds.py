"""Requests that take several rounds, each of which any process can serve (basic/patterns/mrtr)."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from mcpfleet.errors import ProtocolError, TooLarge
from mcpfleet.protocol import jsontext
from mcpfleet.protocol.jsonrpc import INVALID_PARAMS, Request
from mcpfleet.protocol.questions import InputRequiredResult, written
from mcpfleet.protocol.tasks import RESULT_TYPE
from mcpfleet.server.caller import Caller
from mcpfleet.server.choice import Serving
from mcpfleet.server.failures import Failures
from mcpfleet.server.incoming import Incoming
from mcpfleet.server.outcome import STOPPED, Outcome, Refusal, Success
from mcpfleet.server.outlet import Outlet
from mcpfleet.server.policy import Policy
from mcpfleet.server.requeststate import RequestStates, StateTooLarge
from mcpfleet.server.round import Memory, Requests, Round
from mcpfleet.server.shim import Shim
from mcpfleet.server.tasks import view
from mcpfleet.server.tasks.record import Work
from mcpfleet.server.tasks.store import Tasks
from mcpfleet.server.tasks.work import work_of
from mcpfleet.server.tool import Tool
from mcpfleet.server.visits import shown

MAX_DEPTH: Final = 256
"""Of what is sealed, which was checked when it came."""

CALL_TOO_LARGE: Final = Refusal(
    INVALID_PARAMS, "The call is larger than what a task can be made of.", {"reason": "call_too_large"}
)

ASKING: Final = frozenset({"tools/call", "prompts/get", "resources/read"})
"""The methods whose results may ask for input ("Supported Requests")."""


@dataclass(frozen=True, slots=True)
class Rounds:
    """Serves each round, and seals what the next one must know."""

    dispatcher: Serving
    shim: Shim
    states: RequestStates
    policy: Policy
    failures: Failures = field(default_factory=Failures)
    tasks: Tasks | None = None
    """None: no call becomes a task."""

    async def serve(self, request: Request, caller: Caller, outlet: Outlet) -> Outcome:
        """The outcome of this round: a result, an error, or what the client is asked for.

        Legacy revisions have one round only, in which questions are requests. Raises `Unavailable` if the store must be
        asked for a key or takes no task, `TooManyTasks`, and nothing else but cancellation.
        """

        def failed(why: str) -> Refusal:
            return self._failed(request, caller, why)

        if caller.revision.server_requests:
            return shown(await self.shim.serve(request, caller, outlet), caller, {}, failed)
        if request.method not in ASKING:
            outcome = shown(await self.dispatcher.serve(request, caller, outlet), caller, {}, failed)
            if isinstance(outcome, Success) and outcome.input_required is not None:
                return failed("this method's result cannot ask for input")
            return outcome
        try:
            memory, given = await self._told(request, caller)
        except ProtocolError as error:
            return Refusal.because(error)
        return await self._round(request, caller, outlet, memory, given)

    async def _round(
        self, request: Request, caller: Caller, outlet: Outlet, memory: Memory, given: Mapping[str, Any]
    ) -> Outcome:
        """The outcome of one round of a request that may ask, or detach."""
        if given or memory.state is not None:
            caller = replace(caller, input_responses=given, request_state=memory.state)
        may_detach = self.tasks is not None and caller.takes_tasks
        round_ = Round(outlet, memory, given, patience=self.policy.replay_within, may_detach=may_detach)
        outcome = await self._run(request, caller, round_)
        outcome = shown(outcome, caller, given, lambda why: self._failed(request, caller, why))
        if round_.diverged:
            return self._failed(request, caller, "the handler asked its client something else than before")
        if round_.detached is not None and self.tasks is not None:
            work = work_of(request, caller, round_.detached, round_.outcome, trace=round_.trace)
            return await _detached(self.tasks, work, round_.detached)
        if round_.suspended:
            return await self._ask(request, caller, round_, round_.open, round_.outcome)
        if isinstance(outcome, Success) and outcome.input_required is not None:
            return await self._ask_for(request, caller, round_, outcome.input_required)
        return outcome

    async def _told(self, request: Request, caller: Caller) -> tuple[Memory, Mapping[str, Any]]:
        """What earlier rounds have come to, and what the client answers now."""
        given = request.params.get("inputResponses", {})
        if not isinstance(given, dict) or not all(isinstance(answer, dict) for answer in given.values()):
            raise ProtocolError(INVALID_PARAMS, "params.inputResponses must be an object of objects")
        if "requestState" not in request.params:
            return Memory(), given
        data = await self.states.open(request, caller, request.params["requestState"])
        kept = jsontext.loads(data, max_depth=MAX_DEPTH)
        return Memory(frozenset(kept["asked"]), kept["answers"], kept["steps"], kept["state"]), given

    async def _run(self, request: Request, caller: Caller, round_: Round) -> Outcome:
        """The handler's outcome, which means nothing if it was cancelled because it asked."""
        task = asyncio.current_task()
        try:
            outcome = await self.dispatcher.serve(request, caller, round_)
            if round_.suspended and task is not None:  # the handler took no notice of being cancelled
                task.uncancel()
            return outcome
        except asyncio.CancelledError:
            if not round_.suspended or task is None or task.uncancel():
                raise
            return STOPPED
        finally:
            round_.close()

    async def _ask_for(self, request: Request, caller: Caller, round_: Round, wanted: InputRequiredResult) -> Outcome:
        """What a handler that speaks of rounds itself wants asked, if the client can be asked that."""
        requests: Requests = {}
        for key, question in wanted.input_requests.items():
            if (why := caller.unaskable(question)) is not None:
                return Refusal.because(why)
            method, params = written(question, caller.revision)
            requests[key] = {"method": method, "params": params}
        return await self._ask(request, caller, round_, requests, replace(round_.outcome, state=wanted.request_state))

    async def _ask(
        self, request: Request, caller: Caller, round_: Round, requests: Requests, memory: Memory
    ) -> Outcome:
        result: dict[str, Any] = {"resultType": "input_required"}
        if requests:
            result["inputRequests"] = requests
        if memory:
            kept = {
                "asked": sorted(memory.asked),
                "answers": memory.answers,
                "steps": memory.steps,
                "state": memory.state,
            }
            ttl = max(self.policy.state_ttl, round_.longest)
            try:
                result["requestState"] = await self.states.seal(request, caller, jsontext.dumps(kept), ttl=ttl)
            except StateTooLarge as error:
                return self._failed(request, caller, str(error))
        return Success(result)

    def _failed(self, request: Request, caller: Caller, why: str) -> Refusal:
        """The error for a handler that does what no handler may."""
        correlation = self.failures.note(RuntimeError(why), Incoming.of(request, caller))
        return Refusal.internal(correlation)


async def _detached(tasks: Tasks, work: Work, tool: Tool) -> Outcome:
    """Make a task of a call, whose handle is returned in place of a result once the task is durable."""
    ttl = tasks.policy.ttl if tool.task.ttl is None else tool.task.ttl
    try:
        found = await tasks.create(work, ttl=ttl)
    except TooLarge:
        return CALL_TOO_LARGE
    handle = jsontext.plain(view.handle(found, poll=tasks.policy.poll))
    return Success({"resultType": RESULT_TYPE, **handle})
