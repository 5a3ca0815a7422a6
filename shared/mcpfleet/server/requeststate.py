"""`requestState`: what a request has come to, sealed, so that any process can go on from there (basic/patterns/mrtr).

It is bound to who asked for what: method, target, a digest of the arguments, principal and server. It lapses; and it
is accepted once only, over the whole fleet, where the server wants that. Whatever is wrong with one, the client is told
the same.
"""

import base64
import binascii
import hashlib
import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import msgspec
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from mcpfleet.backplane.base import ABSENT, Backplane
from mcpfleet.backplane.doubt import settled
from mcpfleet.backplane.keyring import MAX_SEALED_SECONDS, Keyring
from mcpfleet.errors import McpFleetError, ProtocolError
from mcpfleet.protocol.jsonrpc import INVALID_PARAMS, Request
from mcpfleet.server.auth import owner_of
from mcpfleet.server.caller import Caller

MAX_BYTES: Final = 64 * 1024
"""How long a `requestState` may be."""
USES: Final = "states"
MARKS: Final = "states/marks"
"""A log in which nothing is ever written: that it is still the same one tells that no use was forgotten."""

_VERSION: Final = b"\x01"
_KEY_ID: Final = 8
_NONCE: Final = 12
_TARGETS: Final[Mapping[str, str]] = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}


class StateRefused(ProtocolError):
    """A `requestState` that is not one of ours for this request, or no longer."""

    def __init__(self) -> None:
        super().__init__(INVALID_PARAMS, "Invalid or expired requestState")


class StateTooLarge(McpFleetError):
    """What a handler keeps between two rounds is more than a `requestState` may carry."""


class _Once(msgspec.Struct, frozen=True):
    """What makes a state usable once: its own name, and the history in which its use would be noted."""

    id: str
    history: str


class _Sealed(msgspec.Struct, frozen=True, omit_defaults=True):
    lapses: float
    data: bytes
    once: _Once | None = None


@dataclass(frozen=True, slots=True)
class RequestStates:
    """Seals and opens the states of one server."""

    backplane: Backplane
    keyring: Keyring
    server_name: str
    once: bool = False
    """Whether each is accepted once only."""
    clock: Callable[[], float] = time.time

    async def seal(self, request: Request, caller: Caller, data: bytes, *, ttl: float) -> str:
        """The state for a retry of this request within `ttl` seconds, a day at most.

        Raises `Unavailable` if no key can be had, and `StateTooLarge`.
        """
        key = await self.keyring.sealing()
        lapses = self.clock() + min(ttl, MAX_SEALED_SECONDS)
        once = _Once(secrets.token_hex(16), await self._history()) if self.once else None
        plain = msgspec.msgpack.encode(_Sealed(lapses, data, once))
        nonce, key_id = secrets.token_bytes(_NONCE), bytes.fromhex(key.id)
        head = _VERSION + key_id + nonce
        sealed = AESGCM(key.secret).encrypt(nonce, plain, head + self._bound(request, caller))
        state = base64.urlsafe_b64encode(head + sealed).decode().rstrip("=")
        if len(state) > MAX_BYTES:
            raise StateTooLarge(f"a requestState of {len(state)} bytes exceeds {MAX_BYTES}")
        return state

    async def open(self, request: Request, caller: Caller, state: Any) -> bytes:
        """What was sealed for a retry of this request; where states are used once, this is the use.

        Raises `StateRefused` for anything that is wrong with it, and `Unavailable` if the store must be asked and
        cannot.
        """
        blob = _decoded(state)
        head, sealed = blob[: 1 + _KEY_ID + _NONCE], blob[1 + _KEY_ID + _NONCE :]
        key = await self.keyring.find(head[1 : 1 + _KEY_ID].hex())
        if key is None:
            raise StateRefused
        try:
            plain = AESGCM(key.secret).decrypt(head[-_NONCE:], sealed, head + self._bound(request, caller))
        except InvalidTag:
            raise StateRefused from None
        opened = msgspec.msgpack.decode(plain, type=_Sealed)
        left = opened.lapses - self.clock()
        if left <= 0:
            raise StateRefused
        if opened.once is not None:
            await self._use(opened.once, left)
        return opened.data

    async def _history(self) -> str:
        """The mark that the log of uses was born with; another one means that the store has forgotten them."""
        position = await settled(lambda: self.backplane.open(MARKS, ttl=2 * MAX_SEALED_SECONDS))
        return position.mark

    async def _use(self, once: _Once, left: float) -> None:
        if await self._history() != once.history:
            raise StateRefused
        token = secrets.token_bytes(16)
        use = f"states/use/{once.id}"
        first = await settled(lambda: self.backplane.put(use, token, ttl=left + 60, expect=ABSENT))
        if not first and await self.backplane.get(use) != token:  # else our own first attempt was carried out
            raise StateRefused
        await self.backplane.settle(USES)

    def _bound(self, request: Request, caller: Caller) -> bytes:
        """A digest of all that a state is good for."""
        params = request.params
        parts = [
            self.server_name,
            request.method,
            params.get(_TARGETS.get(request.method, "")),
            params.get("arguments") or {},
            owner_of(caller.principal),
        ]
        return hashlib.sha256(msgspec.json.encode(parts, order="sorted")).digest()


def _decoded(state: Any) -> bytes:
    if not isinstance(state, str) or len(state) > MAX_BYTES or not state.isascii():
        raise StateRefused
    try:
        blob = base64.b64decode(state + "=" * (-len(state) % 4), altchars=b"-_", validate=True)
    except binascii.Error:
        raise StateRefused from None
    # One text for each state: unused bits at the end would let another one pass.
    canonical = base64.urlsafe_b64encode(blob).decode().rstrip("=") == state
    if not canonical or len(blob) < 1 + _KEY_ID + _NONCE + 16 or blob[:1] != _VERSION:
        raise StateRefused
    return blob
