"""Things of one kind, by key and in order."""

import hashlib
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator
from typing import Any, Generic, TypeVar

from mcpfleet.errors import RegistrationError
from mcpfleet.protocol import jsontext

Item = TypeVar("Item")


class Catalog(Generic[Item]):
    """Items found by their key, and listed in the order of their registration."""

    __slots__ = ("_digest", "_items", "_key", "_kind", "_listed", "_told")

    def __init__(self, kind: str, key: Callable[[Item], Hashable], told: Callable[[Item], Any]) -> None:
        """`kind` is what an item is called; `told` gives what clients are told of it, for the digest."""
        self._kind = kind
        self._key = key
        self._told = told
        self._items: dict[Hashable, Item] = {}
        self._listed: tuple[Item, ...] = ()
        self._digest: str | None = None

    def add(self, item: Item) -> None:
        """Register an item; `RegistrationError` if its key is taken."""
        key = self._key(item)
        if key in self._items:
            raise RegistrationError(f"a {self._kind} called {key!r} is registered already")
        self._items[key] = item
        self._listed = (*self._listed, item)
        self._digest = None

    def taken(self, items: Iterable[Item]) -> list[Any]:
        """The keys of the items that could not be added."""
        return [key for key in map(self._key, items) if key in self._items]

    def get(self, key: Hashable) -> Item | None:
        """The item of that key."""
        return self._items.get(key)

    def without(self, keys: Collection[Hashable]) -> "Catalog[Item]":
        """The same items in the same order, but for those of these keys."""
        rest = Catalog(self._kind, self._key, self._told)
        for key, item in self._items.items():
            if key not in keys:
                rest.add(item)
        return rest

    @property
    def keys(self) -> Collection[Any]:
        """The key of every item, in the order of registration."""
        return self._items.keys()

    @property
    def listed(self) -> tuple[Item, ...]:
        """Every item, in the order of registration; what was taken earlier does not change."""
        return self._listed

    @property
    def digest(self) -> str:
        """A fingerprint of all that clients are told, the order included: the same in every process of one version."""
        if self._digest is None:
            self._digest = fingerprint([self._told(item) for item in self._listed])
        return self._digest

    def __iter__(self) -> Iterator[Item]:
        return iter(self._listed)

    def __len__(self) -> int:
        return len(self._listed)


def fingerprint(told: Any) -> str:
    """32 hexadecimal digits that tell one value with a JSON form from every other."""
    return hashlib.sha256(jsontext.dumps(told)).hexdigest()[:32]
