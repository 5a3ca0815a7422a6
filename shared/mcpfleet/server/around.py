"""The way of one message through the hooks that are around it, and back."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from mcpfleet.errors import BackplaneError, ProtocolError
from mcpfleet.protocol import jsontext
from mcpfleet.protocol.jsonrpc import Request
from mcpfleet.protocol.questions import InputRequiredResult
from mcpfleet.protocol.wire import CACHEABLE
from mcpfleet.server.boundary import outcome_of
from mcpfleet.server.caller import Caller
from mcpfleet.server.context import Context
from mcpfleet.server.failures import Failures
from mcpfleet.server.fleet import NOBODY, Fleet
from mcpfleet.server.hooks import CallNext, Hook
from mcpfleet.server.incoming import Incoming
from mcpfleet.server.lifespan import Lived
from mcpfleet.server.outcome import Outcome, Refusal, Success
from mcpfleet.server.outlet import Outlet, Silent
from mcpfleet.server.peer import Answer
from mcpfleet.server.registry import Registry
from mcpfleet.server.server import Server
from mcpfleet.server.threads import Threads

Work = Callable[[Mapping[str, Any]], Awaitable[Success]]
"""Serves a request with these params."""
Own = Callable[[Request], Awaitable[Outcome | Answer]]
"""Serves a request without any function of an author's; an `Answer` is a refusal that has a form of its own."""


class Around:
    """The hooks of a server, composed once: which of them are around a message is one look."""

    def __init__(
        self,
        server: Server,
        threads: Threads,
        fleet: Fleet = NOBODY,
        lived: Lived | None = None,
        failures: Failures | None = None,
        *,
        outer: tuple[Hook, ...] = (),
    ) -> None:
        """`outer` are hooks around those of the server; a function among both is outside only."""
        server.hooks.seal()
        known = {hook.callee for hook in outer}
        self._hooks = (*outer, *(hook for hook in server.hooks if hook.callee not in known))
        self._server = server
        self._threads = threads
        self._fleet = fleet
        self._lived = lived or Lived()
        self._failures = failures or Failures()
        self._any = tuple(hook for hook in self._hooks if hook.method is None)
        self._of = {
            named.method: tuple(hook for hook in self._hooks if hook.method in (None, named.method))
            for named in self._hooks
            if named.method is not None
        }

    def inside(self, server: Server) -> "Around":
        """The hooks of another server within these."""
        return Around(server, self._threads, self._fleet, self._lived, self._failures, outer=self._hooks)

    def of(self, method: str) -> tuple[Hook, ...]:
        """The hooks around messages of this method, outermost first; there may be none."""
        return self._of.get(method, self._any)

    def context(self, caller: Caller, outlet: Outlet) -> Context:
        """What the functions that serve a message of this caller see of it."""
        return Context(caller, outlet, self._fleet, self._lived.value)

    async def request(self, message: Incoming, context: Context, work: Work) -> Success:
        """Serve a request within its hooks; raises what they let through, or raise themselves."""
        served: Success | None = None

        async def serve(given: Incoming) -> Any:
            nonlocal served
            served = await work(given.params)
            return served.input_required or served.result

        result = await self.message(message, context, serve)
        if isinstance(result, InputRequiredResult):
            return Success({}, input_required=result)
        if served is None:
            hint = self._server.cache_hint(message.method) if message.method in CACHEABLE else None
            return Success(_checked(result, message), hint)
        return replace(served, result=_checked(result, message), input_required=None)

    async def own(self, request: Request, caller: Caller, work: Own) -> Outcome | Answer:
        """Serve within its hooks a request that no function of an author's serves; raises what of the store is away."""
        if not self.of(request.method):
            return await work(request)
        message, context = Incoming.of(request, caller), self.context(caller, Silent())

        async def serve(params: Mapping[str, Any]) -> Success:
            return _raised(await work(Request(request.id, request.method, dict(params))))

        try:
            success = await self.request(message, context, serve)
            if success.input_required is not None:
                raise TypeError(f"the hooks around {message.method} ask for input, which its result cannot")
            return success
        except _Answered as error:
            return error.answer
        except BackplaneError:
            raise
        except BaseException as error:  # noqa: BLE001  # the boundary: it becomes an outcome there, or is raised again
            return self.outcome(error, message, context)

    def outcome(self, error: BaseException, message: Incoming, context: Context) -> Outcome:
        """What a request has come to that raised this; see `outcome_of`."""
        return outcome_of(error, message, context, self._failures)

    async def message(self, message: Incoming, context: Context, last: CallNext) -> Any:
        """Let a message through its hooks to `last`; what comes back is what the outermost one returns."""
        hooks, registry = self.of(message.method), self._server.registry
        return await _Passage(hooks, registry, message, context, self._threads, last).next(0)(message)


class _Answered(ProtocolError):
    """A refusal that is an answer already, as hooks see it."""

    def __init__(self, answer: Answer) -> None:
        error = jsontext.loads(answer.body)["error"]
        super().__init__(error["code"], error["message"], error.get("data"))
        self.answer = answer


def _raised(outcome: Outcome | Answer) -> Success:
    if isinstance(outcome, Answer):
        raise _Answered(outcome)
    if isinstance(outcome, Refusal):
        raise ProtocolError(outcome.code, outcome.message, outcome.data)
    return outcome


def _checked(result: Any, message: Incoming) -> Any:
    """What the hooks have come to, if it can be sent at all; of which kind it is, is their author's business."""
    if not isinstance(result, msgspec.Struct | Mapping):
        raise TypeError(f"the hooks around {message.method} came to a {type(result).__name__}, not to a result")
    return result


@dataclass(frozen=True, slots=True)
class _Passage:
    """One message on its way."""

    hooks: tuple[Hook, ...]
    registry: Registry
    sent: Incoming
    context: Context
    threads: Threads
    last: CallNext

    def next(self, index: int) -> CallNext:
        """What serves the message from this hook on."""

        async def call_next(message: Incoming) -> Any:
            if message.method != self.sent.method or message.caller is not self.sent.caller:
                raise ValueError("a hook may change the params of a message, and nothing else")
            for position in range(index, len(self.hooks)):
                hook = self.hooks[position]
                if hook.covers(message, self.registry):
                    return await hook.around(message, self.next(position + 1), self.context, self.threads)
            return await self.last(message)

        return call_next
