"""Requests that the server answers with questions of its own, until it has all it needs (basic/patterns/mrtr)."""

import asyncio
from collections.abc import Mapping
from typing import Any, Final

from mcpfleet.backplane.backoff import Backoff
from mcpfleet.client.ask import Ask
from mcpfleet.client.desk import Desk
from mcpfleet.client.peer import Peer
from mcpfleet.errors import InputNeeded, ReplyRefused

MAX_ROUNDS: Final = 10
COMPLETE: Final = "complete"
INPUT_REQUIRED: Final = "input_required"
TASK: Final = "task"
_ASKING: Final = frozenset({"tools/call", "prompts/get", "resources/read"})
"""The methods whose results may ask ("Supported Requests")."""


def type_of(result: Mapping[str, Any]) -> str:
    """What kind of result it is; one that does not say is complete, as all were once."""
    kind = result.get("resultType", COMPLETE)
    if kind not in (COMPLETE, INPUT_REQUIRED, TASK):
        raise ReplyRefused(f"the server's result is of a type that is not known here: {str(kind)[:128]!r}")
    return str(kind)


class Rounds:
    """Asks a server, and answers what it wants to know first, round after round."""

    def __init__(self, peer: Peer, desk: Desk, *, most: int = MAX_ROUNDS) -> None:
        self._peer = peer
        self._desk = desk
        self._most = most

    async def ask(self, ask: Ask) -> tuple[Mapping[str, Any], bool]:
        """The result that is no question, and whether it took more than one round.

        `InputNeeded` for a question that no handler answers, and for more rounds than `most`; `ProtocolError` where a
        handler refuses.
        """
        backoff, asking = Backoff(first=0.1, most=5.0), ask
        for number in range(self._most + 1):
            result = await self._peer.ask(asking)
            if type_of(result) != INPUT_REQUIRED:
                return result, number > 0
            if ask.method not in _ASKING:
                raise ReplyRefused(f"the server asks in answer to {ask.method}, which it must not")
            requests, state = result.get("inputRequests") or {}, result.get("requestState")
            if not isinstance(requests, dict) or not isinstance(state, str | None) or not (requests or state):
                raise ReplyRefused("the server asks, and neither says what nor gives a state")
            answers = await self._answers(requests)
            if not answers:
                await asyncio.sleep(backoff.pause())
            asking = ask.retried(inputResponses=answers or None, requestState=state)
        raise InputNeeded(f"the server has asked {self._most} times, and asks again")

    async def _answers(self, requests: Mapping[str, Any]) -> dict[str, Any]:
        for request in requests.values():
            method = request.get("method") if isinstance(request, dict) else None
            if not isinstance(method, str) or not self._desk.answers(method):
                raise InputNeeded(f"the server asks {str(method)[:128]}, which nobody here answers")
        asked = [self._desk.result(each["method"], each.get("params") or {}) for each in requests.values()]
        try:
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(each) for each in asked]
        except ExceptionGroup as refused:
            raise refused.exceptions[0] from None
        return dict(zip(requests, (task.result() for task in tasks), strict=True))
