"""What is noted of each message: how long it took and what it came to, and on request for whom."""

import logging
import time
from contextvars import ContextVar
from typing import Any, Final

from mcpfleet.protocol.questions import InputRequiredResult
from mcpfleet.server.context import Context
from mcpfleet.server.hooks import CallNext, Hook, compile_hook
from mcpfleet.server.incoming import Incoming
from mcpfleet.server.server import Server
from mcpfleet.server.vitals import Operation, Vitals
from mcpfleet_service.subjects import Subjects, failure_in, failure_of

SERVED: Final[ContextVar[Incoming | None]] = ContextVar("mcpfleet message", default=None)
"""The message that is being served, for who writes to the log meanwhile."""
AUDITED: Final = frozenset({"tools/call", "prompts/get", "resources/read"})
"""What the audit log has a line of."""
UNFINISHED: Final = "unfinished"
"""What a call has come to that its client left or cancelled, that asks its client first, or has become a task."""

audit = logging.getLogger("mcpfleet.audit")


def accounts(server: Server, vitals: Vitals, *, audited: bool) -> Hook:
    """What notes the messages of a server; `audited`: also in the audit log."""
    return compile_hook(Accounts(server, vitals, audited=audited).around, context_type=Context)


class Accounts:
    """Notes every message of one server."""

    def __init__(self, server: Server, vitals: Vitals, *, audited: bool) -> None:
        self._subjects = Subjects(server)
        self._vitals = vitals
        self._audited = audited

    async def around(self, message: Incoming, call_next: CallNext) -> Any:
        """Serve a message, and note what it came to."""
        began, error, outcome = time.perf_counter(), "", UNFINISHED
        token = SERVED.set(message)
        try:
            result = await call_next(message)
            error = failure_in(result) or ""
            outcome = error or ("input_required" if _asks(result) else "ok")
            return result
        except Exception as raised:
            outcome = error = failure_of(raised)
            raise
        finally:
            seconds = time.perf_counter() - began
            method, target = self._subjects.method(message), self._subjects.target(message)
            self._vitals.took(Operation(method, target or "", error), seconds)
            if self._audited and method in AUDITED:
                self._audit(message, target, outcome, seconds)
            SERVED.reset(token)

    def _audit(self, message: Incoming, target: str | None, outcome: str, seconds: float) -> None:
        """One line: who asked for what, and what it came to; no arguments, and no word of the result."""
        principal = message.principal
        who = None if principal is None else {"issuer": principal.issuer, "subject": principal.subject}
        if who is not None and principal is not None and principal.client:
            who["client"] = principal.client
        found = {"principal": who, "outcome": outcome, "durationMs": round(1000 * seconds, 3)}
        name = "somebody" if principal is None else principal.subject
        words = "%s %s for %s: %s after %.1f ms"
        extra = {"audit": found}
        audit.info(words, message.method, target or "-", name, outcome, 1000 * seconds, extra=extra)


def _asks(result: object) -> bool:
    return isinstance(result, InputRequiredResult)
