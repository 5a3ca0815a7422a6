"""The engine of one process: everything between the HTTP edge and a server's tools."""

import asyncio
import logging
import secrets
import time
from collections.abc import AsyncIterator, Coroutine, Iterator
from contextlib import AbstractContextManager, asynccontextmanager, nullcontext
from functools import partial
from typing import NoReturn

import msgspec

from mcpfleet.backplane.background import background
from mcpfleet.backplane.base import Backplane
from mcpfleet.backplane.keyring import Keyring
from mcpfleet.backplane.leases import Keeper
from mcpfleet.backplane.pulse import Beat, Pulse
from mcpfleet.errors import BackplaneError, Unavailable
from mcpfleet.protocol.headers import Headers
from mcpfleet.protocol.inbound import (
    Accepted,
    Initialize,
    LegacyEnd,
    LegacyPost,
    LegacyStream,
    ModernNotification,
    ModernRequest,
    PairMessage,
    PairStream,
    StatelessPost,
)
from mcpfleet.protocol.jsonrpc import RequestId, encode_failure
from mcpfleet.protocol.revisions import Revision
from mcpfleet.server.around import Around
from mcpfleet.server.auth import Principal
from mcpfleet.server.call import Means
from mcpfleet.server.calls import Calls
from mcpfleet.server.cancellation import Cancellations
from mcpfleet.server.census import Census, Censuses
from mcpfleet.server.choice import Choice, Choose, Serving
from mcpfleet.server.dispatch import Dispatcher
from mcpfleet.server.eras.legacy import Legacy
from mcpfleet.server.eras.listening import LISTEN, Listening
from mcpfleet.server.eras.modern import Modern
from mcpfleet.server.eras.pair import Pair
from mcpfleet.server.eras.requests import Requests
from mcpfleet.server.eras.stateless import Stateless
from mcpfleet.server.eras.subscribing import Subscribing
from mcpfleet.server.events import VERSION_GONE, Change, Events
from mcpfleet.server.failures import Failures
from mcpfleet.server.feed import Feed
from mcpfleet.server.fleet import Fleet
from mcpfleet.server.hooks import Hook
from mcpfleet.server.incoming import Incoming
from mcpfleet.server.lifespan import Lived
from mcpfleet.server.notices import Notices
from mcpfleet.server.outcome import STORE_AWAY, Refusal
from mcpfleet.server.peer import Answer, Peer
from mcpfleet.server.policy import Policy
from mcpfleet.server.process import Process
from mcpfleet.server.questions import Questions
from mcpfleet.server.records import Records
from mcpfleet.server.reply import Replies
from mcpfleet.server.requeststate import RequestStates
from mcpfleet.server.rounds import Rounds
from mcpfleet.server.server import Server
from mcpfleet.server.sessions import Sessions
from mcpfleet.server.shim import Shim
from mcpfleet.server.signals import Signals
from mcpfleet.server.standalone import Standalone
from mcpfleet.server.subscriptions import Subscriptions
from mcpfleet.server.switches import Switches
from mcpfleet.server.tasks.following import Following
from mcpfleet.server.tasks.reaper import Reaper
from mcpfleet.server.tasks.run import Run
from mcpfleet.server.tasks.runner import Runner
from mcpfleet.server.tasks.store import Tasks
from mcpfleet.server.threads import Threads
from mcpfleet.server.versions import Versions, nowhere
from mcpfleet.server.vitals import Fallible, Report, Timed, Vitals
from mcpfleet.server.watches import Watches

log = logging.getLogger("mcpfleet.engine")


class Engine:
    """One server in one process, on one backplane; made after the fork, since it mints the process's id."""

    def __init__(
        self,
        server: Server,
        backplane: Backplane,
        policy: Policy | None = None,
        choose: Choose | None = None,
        *,
        observers: tuple[Hook, ...] = (),
        vitals: Vitals | None = None,
    ) -> None:
        """`choose` decides whose tools, prompts and resources each request is offered in place of `server`'s.

        `observers` are hooks around those of the server, and of each that is chosen. `vitals` counts what is done.
        """
        self.id = secrets.token_hex(8)
        self._since = time.time()
        self.server = server
        self._policy = policy or Policy()
        self._keeper = Keeper(backplane, lease=self._policy.lease)
        self.vitals = vitals or Vitals()
        self._process = process = Process(backplane, self._keeper, self._policy, vitals=self.vitals)
        self._threads = Threads(self._policy.workers, self._policy.waiting)
        self._lived = Lived(server.lifespans)
        self._keyring = Keyring(backplane, wrapping=self._policy.key_encryption_key)
        self._feed = Feed(backplane, ttl=self._policy.session_idle * 2, on_loss=self._keyring.suspect)
        self._events = Events(process)
        self._watches = Watches(self._feed)
        self._switches = Switches(server, process, self._feed, self._events.publish)
        self._versions = Versions(server, process, lambda: self._pulse.fingerprints)
        self.fleet = Fleet(self._events.publish, self._switches.switch)
        self.failures = failures = Failures(server.reporter)
        self._around = around = Around(server, self._threads, self.fleet, self._lived, failures, outer=observers)
        self._notices = notices = Notices(server, self._threads, around, failures)
        tasks = Tasks(backplane, self._policy.tasks, on_end=self._ended)
        offered = tasks if choose is None else None
        own = self._dispatcher(server, self._switches, offered)
        dispatcher: Serving = own
        if choose is not None:
            dispatcher = Choice(choose, self._dispatcher, failures)
        info = msgspec.to_builtins(server.info)
        replies = Replies(info, failures, self.vitals)
        states = RequestStates(backplane, self._keyring, server.name, once=server.single_use_state)
        shim = Shim(dispatcher, server.input_required_legacy_shim)
        rounds = Rounds(dispatcher, shim, states, self._policy, failures, offered)
        following = None if offered is None else Following(backplane, offered, gather=self._policy.gather)
        self._modern = Modern(rounds, Listening(server, process, self._watches, following), replies, around, notices)
        sessions = Sessions(process)
        signals = Signals(process, sessions)
        cancellations = Cancellations(process, signals)
        questions = Questions(process)
        self._calls = Calls(
            Means(process, sessions, signals, cancellations, rounds, replies, questions, self._events, failures)
        )
        subscriptions = Subscriptions(process, self._events)
        records = Records(sessions, self._events)
        subscribing = Subscribing(server, subscriptions)
        requests = Requests(process, signals, records, subscribing, self._calls, replies, around)
        standalone = Standalone(server, process, sessions, signals, subscriptions, records, self._feed)
        self._legacy = Legacy(
            server,
            sessions,
            cancellations,
            requests,
            standalone,
            replies,
            questions,
            around,
            notices,
            self._policy.handshake,
        )
        self._pair = Pair(
            server, process, sessions, records, signals, self._legacy, requests, standalone, replies, questions, around
        )
        self._stateless = Stateless(server, self._modern, replies, around, notices, self._policy.handshake)
        run = Run(own, tasks, failures, info)
        self._runner = Runner(process, tasks, run, lambda: self._switches.registry, wanted=self._runs_tasks)
        self._reaper = Reaper(process, tasks, lambda: self._switches.registry)
        self._census = Censuses(backplane, lambda: self._switches.registry.queues)
        self._pulse = Pulse(
            backplane,
            self._keeper.contact,
            self._beat,
            lease=self._policy.lease,
            on_come=self._feed.doubt,
            on_gone=partial(self._events.publish, Change(VERSION_GONE)),
            on_heard=self._heard,
        )
        self._crowded = False
        self._drained_at: float | None = None

    @property
    def pin(self) -> Revision | None:
        """The only revision that handshakes agree on, if there is one."""
        return self._policy.handshake

    @property
    def draining(self) -> bool:
        """Whether this process was told to stop."""
        return self._process.draining.begun

    @property
    def calls(self) -> int:
        """How many legacy calls have not ended yet, whether or not anybody listens."""
        return self._calls.running

    @property
    def hears(self) -> bool:
        """False when this process is deaf to the others although the store answers."""
        return self._pulse.healthy

    @property
    def in_touch(self) -> bool:
        """Whether the store answered when it was last asked."""
        return self._keeper.contact.unbroken_for(0.0)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Keep leases, pulse, events and calls for the time of the block, within the server's lifespan.

        After it, calls that still run have what is left of the time to drain, and are then ended with an error. If the
        block is left by an exception they are cancelled at once. A part of the engine that dies cancels the block and
        is raised from it, in a group: this process can then serve no more.
        """
        try:
            async with self._lived.during(self.server), background(*self._endless()):
                await self._calls.ready()
                yield
                await self._wind_down()
        finally:
            self._threads.close()

    def report(self) -> Report:
        """How this process does."""
        vitals, store = self.vitals, self._process.backplane
        return Report(
            process=self.id,
            version=self.server.info.version,
            worker=self._policy.tasks.worker,
            since=self._since,
            leaving=self.draining,
            active=vitals.active,
            streams={kind: count for kind, count in vitals.streams.items() if count},
            questions=vitals.questions,
            tasks=dict(self._runner.statuses),
            tasks_ended=dict(vitals.tasks_ended),
            refusals=dict(vitals.refusals),
            store_failures=dict(store.failures) if isinstance(store, Fallible) else {},
            operations=[Timed(operation, tally) for operation, tally in [*vitals.operations.items()]],
            sessions=vitals.sessions,
            bell_lag=vitals.bell_lag,
        )

    async def census(self) -> Census:
        """What the whole fleet has. Raises `Unavailable`."""
        return await self._census.taken()

    def drain(self) -> None:
        """End the streams that wait for the world, so that their clients connect elsewhere.

        Calls go on for the time to drain; one that still runs then ends with an error.
        """
        if self._drained_at is None:
            loop = asyncio.get_running_loop()
            self._drained_at = loop.time() + self._policy.drain
            loop.call_at(self._drained_at, self._stop)
            self._process.draining.begin()

    async def serve(self, asked: Accepted, headers: Headers, principal: Principal | None, peer: Peer) -> Answer | None:
        """Serve one classified request; None if its response was streamed. Raises nothing but cancellation.

        Whatever needs the store while it is away is 503, and nothing else.
        """
        self.vitals.active += 1
        try:
            with self._streaming(asked):
                return await self._serve(asked, headers, principal, peer)
        except Exception as error:  # noqa: BLE001  # the boundary: one request fails, and the process goes on
            answer = self._failed(error, Incoming.brought(asked, headers, principal), principal)
        finally:
            self.vitals.active -= 1
        # A stream of a session just ends: it can be taken up again, and then its response may come.
        return answer if isinstance(asked, ModernRequest | StatelessPost) or not peer.begun else None

    async def _serve(self, asked: Accepted, headers: Headers, principal: Principal | None, peer: Peer) -> Answer | None:
        match asked:
            case ModernRequest():
                return await self._modern.serve(asked, headers, principal, peer)
            case ModernNotification():
                return self._modern.notification(asked, headers, principal)
            case Initialize(stateless=True):
                return await self._stateless.initialize(asked, headers, principal)
            case Initialize():
                return await self._legacy.initialize(asked, headers, principal)
            case LegacyPost():
                return await self._legacy.post(asked, headers, principal, peer)
            case StatelessPost():
                return await self._stateless.post(asked, headers, principal, peer)
            case LegacyStream():
                return await self._legacy.stream(asked, headers, principal, peer)
            case LegacyEnd():
                return await self._legacy.end(asked, headers, principal)
            case PairStream() | PairMessage():
                return await self._pair.serve(asked, headers, principal, peer)

    def _streaming(self, asked: Accepted) -> AbstractContextManager[None]:
        match asked:
            case LegacyStream():
                return self.vitals.streaming("get")
            case PairStream():
                return self.vitals.streaming("sse")
            case ModernRequest(request=request) if request.method == LISTEN:
                return self.vitals.streaming("listen")
        return nullcontext()

    def _ended(self, status: str) -> None:
        self.vitals.tasks_ended[status] += 1

    def _endless(self) -> Iterator[Coroutine[None, None, NoReturn]]:
        yield self._keeper.run()
        yield self._pulse.run()
        yield self._feed.run()
        yield self._watches.run()
        yield self._calls.run()
        yield self._notices.run()
        yield self.failures.run()
        yield self._keyring.run()
        yield self._versions.run()
        yield self._runner.run()
        yield self._reaper.run()
        if self.server.switchable:
            yield self._switches.run()

    async def _wind_down(self) -> None:
        self.drain()
        if self._drained_at is not None:
            clock = asyncio.get_running_loop().time
            await self._calls.ended(within=self._drained_at - clock())
            await self._notices.ended(within=self._drained_at - clock())
            await self._runner.ended(within=self._drained_at - clock())
        self._stop()
        await self._calls.ended(within=self._policy.lease)
        await self._runner.ended(within=self._policy.lease)
        await self._notices.ended(within=self._policy.lease)
        await self.failures.reported(within=self._policy.lease)
        await self._pulse.leave()

    def _stop(self) -> None:
        self._calls.stop()
        self._modern.stop()
        self._notices.stop()
        self._runner.stop()

    def _runs_tasks(self, queue: str) -> bool:
        """Whether this process is to run tasks of a queue: one that serves does so while no worker is known to."""
        members = self._pulse.members
        known = any(member.process == self.id for member in members)
        taken = any(member.worker and (not member.queues or queue in member.queues) for member in members)
        return self._policy.tasks.worker or (known and not taken)

    def _dispatcher(self, server: Server, switches: Switches | None = None, tasks: Tasks | None = None) -> Dispatcher:
        return Dispatcher(
            server,
            self._threads,
            page_size=self._policy.page_size,
            pin=self.pin,
            switches=switches,
            around=self._around if server is self.server else self._around.inside(server),
            elsewhere=self._versions.elsewhere if server is self.server else nowhere,
            tasks=tasks,
        )

    def _failed(self, error: Exception, message: Incoming | None, principal: Principal | None) -> Answer:
        """The answer to a request that nobody else has found one for."""
        request_id = None if message is None else message.request_id
        if isinstance(error, Unavailable):
            return self._refused(request_id, STORE_AWAY, 503)
        correlation = self.failures.note(error, message, principal=principal)
        if isinstance(error, BackplaneError):
            return self._refused(request_id, STORE_AWAY, 503)
        return self._refused(request_id, Refusal.internal(correlation), 500)

    def _refused(self, request_id: RequestId | None, refusal: Refusal, status: int) -> Answer:
        self.vitals.refused(refusal.code, refusal.data)
        headers = (("Retry-After", "1"),) if status == 503 else ()
        return Answer(status, encode_failure(request_id, refusal.code, refusal.message, refusal.data), headers=headers)

    def _heard(self, lag: float) -> None:
        """Note how late this process hears of the fleet, and say it once if there begin to be more than are meant."""
        self.vitals.bell_heard(lag)
        most, alive = self._policy.max_processes, len(self._pulse.members)
        if most is not None and (alive > most) is not self._crowded:
            self._crowded = alive > most
            if self._crowded:
                log.warning("%d processes are alive, and MCPFLEET_MAX_PROCESSES says %d at most", alive, most)

    def _beat(self) -> Beat:
        info, digest = self.server.info, self.server.registry.digest
        policy = self._policy.tasks
        worker = policy.worker and not self.draining
        return Beat(self.id, info.version, digest, float(self.calls), worker=worker, queues=policy.queues)
