"""How a handler that runs again finds what it did before.

Each thing it does is known by what it is and how often it was done before, not by when.
"""

import hashlib
from collections import Counter
from typing import Any

import msgspec


class Recurrence:
    """The keys of one run of a handler, the same ones in every run that does the same."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()

    def key(self, kind: str, what: Any) -> str:
        """The key of a thing of this kind, which is done once more; never that of another thing."""
        digest = hashlib.blake2b(msgspec.json.encode(what, order="sorted"), digest_size=9).hexdigest()
        self._counts[kind + digest] += 1
        return f"{kind}{self._counts[kind + digest]}-{digest}"
