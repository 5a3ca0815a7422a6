"""The keys that a fleet seals with: any process opens what another one sealed, across rotations and failovers.

Each key is a cell, and one more cell lists their ids, oldest first. A failover may lose a new key after half of the
fleet has seen it, and a process may be cut off while the others go on to the next. So a new key is announced for a
while before anybody seals with it, and each process finds it in the store again before its own first use; who has not
read the ring for that long seals nothing; and whoever has sealed with a key that the store lacks puts it back, at once
where it hears that the store has lost something. The life of a key's cell is extended as long as somebody seals with
it: it ends when all that was sealed with it has expired.
All times are by the store's clock or by the process's own monotonic one.
"""

import asyncio
import logging
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, NoReturn

import msgspec
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from mcpfleet.backplane.base import ABSENT, Backplane, CellExpectation
from mcpfleet.backplane.doubt import settled
from mcpfleet.backplane.memory import MemoryBackplane
from mcpfleet.backplane.stored import pack, unpack
from mcpfleet.errors import BackplaneError, InDoubt, KeyRefused, Unavailable

log = logging.getLogger("mcpfleet.keyring")

SCOPE: Final = "keyring"
IDS: Final = "keyring/ids"
TURN: Final = "keyring/turn"
"""Is there until the next rotation is due; who finds it gone and puts it back rotates."""

ANNOUNCED: Final = "keyring/announced"
"""The id of a key that is too new to seal with, for as long as it is."""

ANNOUNCE_SECONDS: Final = 60.0
ROTATE_SECONDS: Final = 86_400.0
MAX_SEALED_SECONDS: Final = 86_400.0
"""How long anything may stay sealed."""
KEY_SECONDS: Final = MAX_SEALED_SECONDS + 3600.0
"""How long a key is kept after its last use for sealing."""
IDS_SECONDS: Final = 2 * KEY_SECONDS
MAX_KEYS: Final = 64
MAX_UNKNOWN: Final = 1024
UNKNOWN_SECONDS: Final = 1.0
"""For how long a key that the store lacks is not asked for again: somebody may be about to put it back."""
UPDATE_TRIES: Final = 8


@dataclass(frozen=True, slots=True)
class Key:
    """A key of 32 random bytes and its name."""

    id: str
    secret: bytes


@dataclass(slots=True)
class _Held:
    key: Key
    used: float
    """When it was last sealed with, or first seen."""
    confirmed: bool = False


class _Ids(msgspec.Struct, frozen=True):
    ids: tuple[str, ...]


class _Stored(msgspec.Struct, frozen=True):
    secret: bytes
    wrapped: bool = False


class Keyring:
    """The keys as one process knows them; `run` it as a task of the process.

    Nothing is asked or made before the first use. `wrapping` is the key of 32 bytes that wraps what is stored.
    """

    def __init__(
        self,
        backplane: Backplane,
        *,
        wrapping: bytes | None = None,
        announce: float = ANNOUNCE_SECONDS,
        rotate_every: float = ROTATE_SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._backplane = backplane
        self._wrapping = None if wrapping is None else AESGCM(wrapping)
        self._announce = announce
        self._rotate_every = rotate_every
        self._clock = clock
        self._held: dict[str, _Held] = {}
        self._ids: tuple[str, ...] = ()
        self._too_new: str | None = None
        self._read_at: float | None = None
        self._unknown: OrderedDict[str, float] = OrderedDict()
        self._turn = asyncio.Lock()
        self._needed = asyncio.Event()
        self._suspicion = asyncio.Event()
        self._warned = wrapping is not None or isinstance(backplane, MemoryBackplane)

    async def sealing(self) -> Key:
        """The key to seal with now; raises `Unavailable` if that cannot be known."""
        self._needed.set()
        if not self._fresh():
            await self.read()
        held = self._chosen()
        if not held.confirmed:
            await self._keep(held)
            held.confirmed = True
        held.used = self._clock()
        return held.key

    async def find(self, key_id: str) -> Key | None:
        """The key of this id, asked of the store if it is not known here; None: there is none. Raises `Unavailable`."""
        held = self._held.get(key_id)
        if held is not None:
            return held.key
        if self._unknown.get(key_id, 0.0) > self._clock():
            return None
        self._needed.set()
        if await self._fetch(key_id):
            return self._held[key_id].key
        self._unknown[key_id] = self._clock() + UNKNOWN_SECONDS
        if len(self._unknown) > MAX_UNKNOWN:
            self._unknown.popitem(last=False)
        return None

    def suspect(self) -> None:
        """Read the ring before anything else is sealed, and soon: the store may have lost keys, which are put back."""
        self._read_at = None
        self._unknown.clear()
        self._suspicion.set()

    async def rotate(self) -> str:
        """Add a new key, which the fleet seals with once it is announced; returns its id. Raises `Unavailable`."""
        await self.read()
        key = await self._make()
        await self._backplane.settle(SCOPE)
        return key.id

    async def listed(self) -> Sequence[tuple[str, bool]]:
        """The ids in the store, oldest first, and whether each key can be read here. Raises `Unavailable`."""
        raw = await self._backplane.get(IDS)
        ids = () if raw is None else unpack(_Ids, raw).ids
        return [(key_id, await self._readable(key_id)) for key_id in ids]

    async def run(self) -> NoReturn:
        """Follow the ring, and rotate when it is due, from the first use on and until cancelled."""
        await self._needed.wait()
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(self._announce / 3):
                    await self._suspicion.wait()
            self._suspicion.clear()
            try:
                await self.read()
                await self._rotate_if_due()
            except Unavailable:
                continue
            except BackplaneError:  # one value that cannot be read must not end the process
                log.exception("the ring of keys cannot be read")

    async def read(self) -> None:
        """Read the ring, put back what it lacks, and make a key if it has none. Raises `Unavailable`."""
        async with self._turn:
            asked = self._clock()
            self._forget(asked)
            raw = await self._backplane.get(IDS, ttl=IDS_SECONDS)
            self._ids = () if raw is None else unpack(_Ids, raw).ids
            announced = await self._backplane.get(ANNOUNCED)
            self._too_new = None if announced is None else announced.decode()
            await self._fetch_all()
            for held in [*self._held.values()]:
                if held.key.id not in self._ids and held.confirmed:
                    await self._add(held.key.id)
            if not self._ring():
                await self._make()
                await self._fetch_all()
            for held in self._mine():
                await self._keep(held)
            self._read_at = asked

    async def _rotate_if_due(self) -> None:
        with suppress(InDoubt):  # whoever has it, has it: the next round is early enough for us
            if await self._backplane.put(TURN, b"", ttl=self._rotate_every, expect=ABSENT):
                await self.rotate()

    async def _make(self) -> Key:
        """Store a new key, and only then tell of it."""
        key = Key(secrets.token_hex(8), secrets.token_bytes(32))
        await self._store(key, KEY_SECONDS)
        self._hold(key)
        if self._ring():  # the first key was never preceded by another, so nobody has to wait for it
            await settled(lambda: self._backplane.put(ANNOUNCED, key.id.encode(), ttl=self._announce))
            self._too_new = key.id
        await self._add(key.id)
        await settled(lambda: self._backplane.put(TURN, b"", ttl=self._rotate_every))
        return key

    async def _add(self, key_id: str) -> None:
        """Add one id to the ring by compare-and-set; adding it twice is adding it once."""
        for _ in range(UPDATE_TRIES):
            raw = await self._backplane.get(IDS)
            ids = () if raw is None else unpack(_Ids, raw).ids
            if key_id in ids:
                self._ids = ids
                return
            wanted = (*[each for each in ids if await self._readable(each)], key_id)[-MAX_KEYS:]
            with suppress(InDoubt):  # the next look tells
                expect: CellExpectation = ABSENT if raw is None else raw
                if await self._backplane.put(IDS, pack(_Ids(wanted)), ttl=IDS_SECONDS, expect=expect):
                    self._ids = wanted
                    return
        raise Unavailable("the ring of keys changed too often meanwhile")

    async def _fetch_all(self) -> None:
        for key_id in self._ids:
            if key_id not in self._held:
                try:
                    await self._fetch(key_id)
                except KeyRefused as refused:
                    log.error("key %s cannot be used: %s", key_id, refused)

    async def _fetch(self, key_id: str) -> bool:
        raw = await self._backplane.get(_cell(key_id))
        if raw is None:
            return False
        self._hold(self._unwrapped(key_id, unpack(_Stored, raw)))
        return True

    async def _readable(self, key_id: str) -> bool:
        return await self._backplane.get(_cell(key_id)) is not None

    async def _keep(self, held: _Held) -> None:
        """See to it that the store has the key for as long as what it sealed may live."""
        left = max(1.0, held.used + KEY_SECONDS - self._clock())
        if held is self._chosen():
            left = KEY_SECONDS
            if await self._backplane.get(_cell(held.key.id), ttl=left) is not None:
                return
        await self._store(held.key, left)

    async def _store(self, key: Key, ttl: float) -> None:
        data = pack(self._wrapped(key))
        await settled(lambda: self._backplane.put(_cell(key.id), data, ttl=ttl, expect=ABSENT))

    def _hold(self, key: Key) -> None:
        self._held[key.id] = _Held(key, self._clock())
        self._unknown.pop(key.id, None)
        if not self._warned:
            self._warned = True
            log.warning(
                "the keys that seal requestState are stored as they are: whoever reads the store can forge it; "
                "set MCPFLEET_KEY_ENCRYPTION_KEY"
            )

    def _forget(self, now: float) -> None:
        """Drop what has not been sealed with for so long that all of it has expired."""
        self._held = {name: held for name, held in self._held.items() if now - held.used < KEY_SECONDS}

    def _ring(self) -> list[_Held]:
        return [self._held[key_id] for key_id in self._ids if key_id in self._held]

    def _mine(self) -> list[_Held]:
        """The keys that this process answers for: those it has sealed with, and may seal with yet.

        Not those that were retired before it came, or every new process would prolong their lives.
        """
        ring, chosen = self._ring(), self._chosen()
        return [held for held in ring if held.confirmed] + ring[ring.index(chosen) :]

    def _fresh(self) -> bool:
        return self._read_at is not None and self._clock() - self._read_at <= self._announce

    def _chosen(self) -> _Held:
        """The newest key that is not too new."""
        ring = self._ring()
        if not ring:
            raise Unavailable("the ring of keys cannot be read")
        return next((held for held in reversed(ring) if held.key.id != self._too_new), ring[-1])

    def _wrapped(self, key: Key) -> _Stored:
        if self._wrapping is None:
            return _Stored(key.secret)
        nonce = secrets.token_bytes(12)
        return _Stored(nonce + self._wrapping.encrypt(nonce, key.secret, key.id.encode()), wrapped=True)

    def _unwrapped(self, key_id: str, stored: _Stored) -> Key:
        if not stored.wrapped:
            return Key(key_id, stored.secret)
        if self._wrapping is None:
            raise KeyRefused("the keys in the store are wrapped: MCPFLEET_KEY_ENCRYPTION_KEY is not set")
        try:
            secret = self._wrapping.decrypt(stored.secret[:12], stored.secret[12:], key_id.encode())
        except InvalidTag:
            raise KeyRefused("the keys in the store are wrapped with another MCPFLEET_KEY_ENCRYPTION_KEY") from None
        return Key(key_id, secret)


def _cell(key_id: str) -> str:
    return f"keyring/key/{key_id}"
