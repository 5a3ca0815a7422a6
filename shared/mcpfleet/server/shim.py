"""Handlers that speak of rounds themselves, for legacy clients: what they want asked is asked by real requests."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from mcpfleet.backplane.backoff import Backoff
from mcpfleet.errors import QuestionFailed
from mcpfleet.protocol.forms import Unshowable
from mcpfleet.protocol.jsonrpc import INTERNAL_ERROR, Request
from mcpfleet.protocol.questions import InputRequiredResult, written
from mcpfleet.server.caller import Caller
from mcpfleet.server.choice import Serving
from mcpfleet.server.outcome import Outcome, Refusal, Success
from mcpfleet.server.outlet import Outlet

MAX_ROUNDS: Final = 8


@dataclass(frozen=True, slots=True)
class Shim:
    """Serves legacy requests, asking in the handler's name until it has a result."""

    dispatcher: Serving
    allowed: bool = True

    async def serve(self, request: Request, caller: Caller, outlet: Outlet) -> Outcome:
        """The outcome of the whole request; raises nothing but cancellation."""
        backoff = Backoff()
        for _ in range(MAX_ROUNDS):
            outcome = await self.dispatcher.serve(request, caller, outlet)
            wanted = outcome.input_required if isinstance(outcome, Success) else None
            if wanted is None:
                return outcome
            if not self.allowed:
                return _refused("This needs a newer protocol version, whose requests may take several rounds.")
            answers = await _answers(wanted, caller, outlet)
            if isinstance(answers, Refusal):
                return answers
            if not answers:
                await asyncio.sleep(backoff.pause())
            caller = replace(caller, input_responses=answers, request_state=wanted.request_state)
        return _refused(f"The request was not complete after {MAX_ROUNDS} rounds of questions.")


async def _answers(wanted: InputRequiredResult, caller: Caller, outlet: Outlet) -> Mapping[str, Any] | Refusal:
    """The client's results, by the handler's keys; whether all can be asked is known before anything is sent."""
    requests = {}
    for key, question in wanted.input_requests.items():
        if (why := caller.unaskable(question)) is not None:
            return Refusal.because(why)
        try:
            requests[key] = written(question, caller.revision)
        except Unshowable as unshowable:
            return _refused(str(unshowable))
    failures: list[QuestionFailed] = []
    asked: dict[str, asyncio.Task[Mapping[str, Any]]] = {}
    try:
        async with asyncio.TaskGroup() as tasks:
            for key, (method, params) in requests.items():
                asked[key] = tasks.create_task(_ask(outlet, method, params))
    except* QuestionFailed as group:
        failures += [error for error in group.exceptions if isinstance(error, QuestionFailed)]
    return _refused(str(failures[0])) if failures else {key: task.result() for key, task in asked.items()}


async def _ask(outlet: Outlet, method: str, params: Mapping[str, Any]) -> Mapping[str, Any]:
    return await outlet.ask(method, params, timeout=None)


def _refused(words: str) -> Refusal:
    return Refusal(INTERNAL_ERROR, words, {"reason": "input_required"})
