"""Which era a server speaks, and which revision of it (Versioning, "Backward Compatibility").

A modern request is tried first. What only a modern server answers means a modern server, whatever it says; anything
else means a legacy one, however it says so. A server that is down, or wants credentials, is neither.
"""

import asyncio
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from mcpfleet.client.ask import Ask
from mcpfleet.client.eras.legacy import Legacy
from mcpfleet.client.eras.modern import MODERN_ERRORS, Modern
from mcpfleet.client.peer import Introduction, Peer
from mcpfleet.client.wiring import Wiring
from mcpfleet.errors import ClientError, HttpRefused, NegotiationFailed, RemoteError, ReplyRefused
from mcpfleet.protocol import meta
from mcpfleet.protocol.jsonrpc import UNSUPPORTED_VERSION
from mcpfleet.protocol.messages.lifecycle import DiscoverResult, Implementation, ServerCapabilities
from mcpfleet.protocol.revisions import LATEST, LATEST_LEGACY, REVISIONS, Era, Revision

PROBE_SECONDS: Final = 5.0
"""How long a server on a shared channel may leave the probe unanswered: a legacy one may do so for ever."""
MOST_PROBES: Final = 3
UNKNOWN_STATUSES: Final = frozenset({400, 404, 405})
"""What a server answers to requests of an era or transport that it does not know."""
UNKNOWN: Final = Introduction(capabilities=ServerCapabilities())


class IsLegacy(Exception):
    """The server is none of the modern era, or speaks no revision of it that is spoken here."""


async def modern(wiring: Wiring, revision: Revision = LATEST) -> Peer:
    """A server of the modern era. `IsLegacy` if it is none; `NegotiationFailed` if no version is spoken by both."""
    for _ in range(MOST_PROBES):
        peer = Modern(wiring, revision, UNKNOWN)
        try:
            found = Modern(wiring, revision, await _discovered(wiring, peer))
        except RemoteError as error:
            if error.code != UNSUPPORTED_VERSION:
                if error.code in MODERN_ERRORS:
                    raise
                raise IsLegacy from error
            revision = _shared_version(error.data)
        else:
            if wiring.transport.shared:
                wiring.company.start(found.attend())
            return found
    raise NegotiationFailed("the server refuses every version, though it names one that is spoken here")


async def legacy(wiring: Wiring, revision: Revision = LATEST_LEGACY) -> Peer:
    """A server of the legacy era, to which this revision is offered."""
    peer = Legacy(wiring, revision)
    await peer.begin()
    return peer


async def either(wiring: Wiring) -> Peer:
    """A server of either era, the modern one first."""
    try:
        return await modern(wiring)
    except IsLegacy:
        return await legacy(wiring)


def is_unknown(error: ClientError) -> bool:
    """Whether a request was refused by somebody who does not know its era or transport, and so has run nothing."""
    return isinstance(error, HttpRefused) and error.status in UNKNOWN_STATUSES


async def _discovered(wiring: Wiring, peer: Modern) -> Introduction:
    try:
        async with asyncio.timeout(PROBE_SECONDS if wiring.transport.shared else None):
            result = await peer.ask(Ask(method="server/discover"))
    except TimeoutError:
        raise IsLegacy from None
    except HttpRefused as refused:
        if not is_unknown(refused):
            raise
        raise IsLegacy from refused
    try:
        found = msgspec.convert(result, DiscoverResult)
    except msgspec.ValidationError as error:
        raise ReplyRefused(f"the server's answer to server/discover: {error}") from None
    if peer.revision.date not in found.supported_versions:
        raise RemoteError(UNSUPPORTED_VERSION, "not among its versions", {"supported": found.supported_versions})
    return Introduction(capabilities=found.capabilities, info=_info(found.meta), instructions=found.instructions)


def _info(about: Mapping[str, Any] | None) -> Implementation | None:
    """Who the server says that it is, if it does, as every modern result may."""
    try:
        return msgspec.convert((about or {}).get(meta.SERVER_INFO), Implementation)
    except msgspec.ValidationError:
        return None


def _shared_version(data: Any) -> Revision:
    """The newest modern revision that both speak; `IsLegacy` if the server has others that are spoken here."""
    named = data.get("supported") if isinstance(data, dict) else None
    dates = [date for date in named if isinstance(date, str)] if isinstance(named, list | tuple) else []
    shared = [revision for revision in REVISIONS if revision.date in dates]
    if not shared:
        raise NegotiationFailed(f"the server speaks {', '.join(map(repr, dates))[:200]}, and none of it is spoken here")
    if shared[-1].era is Era.LEGACY:
        raise IsLegacy
    return shared[-1]
