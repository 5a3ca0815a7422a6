"""What went wrong by no fault of a client: it is logged under an id, and told to the author's exception reporter."""

import asyncio
import contextvars
import inspect
import logging
import secrets
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NoReturn

from mcpfleet.errors import RegistrationError
from mcpfleet.protocol.jsonrpc import RequestId
from mcpfleet.server.auth import Principal
from mcpfleet.server.incoming import Incoming
from mcpfleet.server.threads import Threads

MAX_WAITING: Final = 1000
"""How many failures may wait to be reported; one more is only logged."""
REPORT_SECONDS: Final = 10.0
"""How long one report may take."""

log = logging.getLogger("mcpfleet.failures")


@dataclass(frozen=True, slots=True)
class Failed:
    """Which request or notification failed, by what its client and the log can be asked for."""

    correlation_id: str
    """What the log has it under; the client of a request is told it too."""
    method: str | None
    """None: it brought no message, as the GET of a stream does, or none that was read yet."""
    target: str | None
    """The name of the tool or prompt, or the URI."""
    request_id: RequestId | None
    """None for a notification."""
    principal: Principal | None
    session_id: str | None
    client: Mapping[str, Any] | None
    """What the client says of itself."""
    arguments: Mapping[str, Any] = field(repr=False)
    """As they came; they may be nobody else's business."""


Reporter = Callable[[BaseException, Failed], Awaitable[None] | None]


class Failures:
    """Takes note of failures; `run` it as a task of the process, so that they are reported."""

    def __init__(self, reporter: Reporter | None = None) -> None:
        self._reporter = reporter
        self._threads = Threads(1)
        self._waiting: asyncio.Queue[_Report] = asyncio.Queue(MAX_WAITING)

    def note(self, error: BaseException, message: Incoming | None = None, *, principal: Principal | None = None) -> str:
        """Log a failure and have it reported, at leisure; returns the correlation id that stands for it."""
        correlation = secrets.token_hex(8)
        told = {"correlation_id": correlation, "incoming": message}
        log.error("%s failed; correlation id %s", message or "a request", correlation, exc_info=error, extra=told)
        if self._reporter is not None:
            failed = _failed(correlation, message, principal)
            try:
                self._waiting.put_nowait(_Report(self._reporter, error, failed, contextvars.copy_context()))
            except asyncio.QueueFull:
                log.warning("%d failures wait to be reported; %s will not be", MAX_WAITING, correlation)
        return correlation

    async def run(self) -> NoReturn:
        """Report what is noted, one after the other, until cancelled."""
        try:
            while True:
                report = await self._waiting.get()
                try:
                    async with asyncio.TaskGroup() as tasks:  # in the context of what failed, with its trace
                        tasks.create_task(report.told(self._threads), context=report.context)
                finally:
                    self._waiting.task_done()
        finally:
            self._threads.close()

    async def reported(self, *, within: float) -> None:
        """Wait until everything that was noted is reported, for so many seconds at most."""
        if self._reporter is not None:
            try:
                async with asyncio.timeout(within):
                    await self._waiting.join()
            except TimeoutError:
                log.warning("the last failures could not be reported in time")


@dataclass(frozen=True, slots=True)
class _Report:
    """One failure that waits to be reported."""

    reporter: Reporter
    error: BaseException
    failed: Failed
    context: contextvars.Context

    async def told(self, threads: Threads) -> None:
        try:
            async with asyncio.timeout(REPORT_SECONDS):
                if inspect.iscoroutinefunction(self.reporter):
                    await self.reporter(self.error, self.failed)
                    return
                done = await threads.run(self.reporter, self.error, self.failed)
                if inspect.isawaitable(done):
                    await done
        except (Exception, BaseExceptionGroup, SystemExit):  # the boundary: a reporter breaks nothing but its report
            log.exception("the exception reporter failed; correlation id %s", self.failed.correlation_id)


def checked_reporter(reporter: Any) -> Any:
    """The function itself; `RegistrationError` if it cannot be called with an exception and what failed."""
    try:
        inspect.signature(reporter).bind(None, None)
    except (TypeError, ValueError) as error:
        raise RegistrationError(f"an exception reporter takes the exception and what failed: {error}") from None
    return reporter


def _failed(correlation: str, message: Incoming | None, principal: Principal | None) -> Failed:
    if message is None:
        return Failed(correlation, None, None, None, principal, None, None, {})
    return Failed(
        correlation_id=correlation,
        method=message.method,
        target=message.target,
        request_id=message.request_id,
        principal=message.principal,
        session_id=message.session_id,
        client=message.client,
        arguments=message.arguments,
    )
