"""How long each message takes, counted in the vitals of its process."""

import time
from typing import Any

from mcpfleet.server.context import Context
from mcpfleet.server.hooks import CallNext, Hook, compile_hook
from mcpfleet.server.incoming import Incoming
from mcpfleet.server.server import Server
from mcpfleet.server.vitals import Operation, Vitals
from mcpfleet_service.subjects import Subjects, failure_in, failure_of


def durations(server: Server, vitals: Vitals) -> Hook:
    """What measures the messages of a server."""
    return compile_hook(Durations(server, vitals).around, context_type=Context)


class Durations:
    """Measures every message of one server."""

    def __init__(self, server: Server, vitals: Vitals) -> None:
        self._subjects = Subjects(server)
        self._vitals = vitals

    async def around(self, message: Incoming, call_next: CallNext) -> Any:
        """Serve a message, and note how long it took and what it came to."""
        began, error = time.perf_counter(), None
        try:
            result = await call_next(message)
            error = failure_in(result)
            return result
        except Exception as raised:
            error = failure_of(raised)
            raise
        finally:
            target = self._subjects.target(message)
            operation = Operation(self._subjects.method(message), target or "", error or "")
            self._vitals.took(operation, time.perf_counter() - began)
