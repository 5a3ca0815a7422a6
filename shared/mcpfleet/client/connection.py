"""One client's way to one server: found once, and found anew when the server turns out to be another."""

import asyncio
import logging
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from typing import Any, Self

from mcpfleet.client import negotiate
from mcpfleet.client.ask import Ask
from mcpfleet.client.company import Company
from mcpfleet.client.desk import Desk
from mcpfleet.client.erasknown import ErasKnown
from mcpfleet.client.identity import Identity
from mcpfleet.client.negotiate import IsLegacy
from mcpfleet.client.peer import Peer
from mcpfleet.client.rounds import Rounds
from mcpfleet.client.target import Open, Target
from mcpfleet.client.wiring import Wiring, counting
from mcpfleet.errors import ClientError, HttpRefused, NegotiationFailed
from mcpfleet.protocol.jsonrpc import RequestId
from mcpfleet.protocol.revisions import LATEST, LATEST_LEGACY, Era, Revision, find

log = logging.getLogger("mcpfleet.client")


class Mode:
    """What a client is told to speak: `auto`, an era, or one revision by its date."""

    def __init__(self, text: str) -> None:
        """`ValueError` for anything else."""
        revision = find(text)
        if revision is None and text not in ("auto", *(era.value for era in Era)):
            raise ValueError(f"a mode is auto, legacy, modern or a version of the protocol, not {text!r}")
        self.era: Era | None = revision.era if revision is not None else None if text == "auto" else Era(text)
        self.modern: Revision = revision if revision is not None and revision.era is Era.MODERN else LATEST
        self.legacy: Revision = revision if revision is not None and revision.era is Era.LEGACY else LATEST_LEGACY


class Connection:
    """Asks one server, in the era that it speaks; usable within its context, once."""

    def __init__(
        self, target: Target, mode: Mode, identity: Callable[[], Identity], desk: Desk, eras: ErasKnown
    ) -> None:
        self._target = target
        self._mode = mode
        self._identity = identity
        self._desk = desk
        self._eras = eras
        self._ids: Callable[[], RequestId] = counting()
        self._company = Company()
        self._held = AsyncExitStack()
        self._finding = asyncio.Lock()
        self._found: Peer | None = None

    @property
    def peer(self) -> Peer:
        """The server as it was last found. `RuntimeError` outside of the context."""
        if self._found is None:
            raise RuntimeError("the client is not connected: use it within `async with`")
        return self._found

    async def ask(self, ask: Ask) -> tuple[Mapping[str, Any], bool]:
        """The result of a request, and whether the server asked before it gave it.

        A server that turns out to be of another era is found anew, and asked once more: it has run nothing.
        """
        peer = self.peer
        try:
            return await Rounds(peer, self._desk).ask(ask)
        except HttpRefused as refused:
            if self._mode.era is not None or peer.revision.era is Era.LEGACY or not negotiate.is_unknown(refused):
                raise
        await self._find_again(peer)
        return await Rounds(self.peer, self._desk).ask(ask)

    async def _find_again(self, lost: Peer) -> None:
        """Find the server anew, unless somebody has: behind one balancer may be old servers and new ones."""
        async with self._finding:
            if self._found is lost:
                log.info("the server is not of the era that it was of; it is asked again")
                self._eras.forget(self._target.origin)
                self._found = await self._legacy_or_older()
                self._eras.learn(self._target.origin, Era.LEGACY)

    async def _find(self) -> Peer:
        era = self._mode.era or self._eras.recall(self._target.origin)
        wiring = await self._wired(self._target.open)
        if era is Era.LEGACY:
            return await self._legacy_or_older(wiring)
        try:
            return await negotiate.modern(wiring, self._mode.modern)
        except IsLegacy as why:
            if self._mode.era is Era.MODERN:
                raise NegotiationFailed("the server is not of the modern era") from why
            return await self._legacy_or_older(wiring)

    async def _legacy_or_older(self, wiring: Wiring | None = None) -> Peer:
        """A server of the legacy era, over the oldest transport if it knows no newer one."""
        wiring = wiring or await self._wired(self._target.open)
        try:
            return await negotiate.legacy(wiring, self._mode.legacy)
        except HttpRefused as refused:
            if self._target.older is None or not negotiate.is_unknown(refused):
                raise
            return await negotiate.legacy(await self._wired(self._target.older), self._mode.legacy)

    async def _wired(self, open_: Open) -> Wiring:
        transport = await self._held.enter_async_context(open_())
        return Wiring(
            transport=transport, identity=self._identity(), desk=self._desk, company=self._company, ids=self._ids
        )

    async def __aenter__(self) -> Self:
        async with self._held as held:
            await held.enter_async_context(self._company)
            self._found = await self._find()
            self._held = held.pop_all()
        self._eras.learn(self._target.origin, self._found.revision.era)
        return self

    async def __aexit__(self, *_: object) -> None:
        try:
            if self._found is not None:
                try:
                    await self._found.close()
                except ClientError as error:
                    log.debug("the server was not told of the end: %s", error)
        finally:
            self._found = None
            await self._held.aclose()
