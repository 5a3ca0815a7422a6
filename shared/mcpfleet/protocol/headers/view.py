"""The headers of one request, without an HTTP library's type."""

from collections.abc import Iterable, Mapping
from typing import Final


class Headers:
    """An immutable view of header lines that ignores the case of names and the blanks around values."""

    __slots__ = ("_first", "_more")

    def __init__(self, lines: Iterable[tuple[bytes, bytes]] = ()) -> None:
        self._first: dict[bytes, bytes] = {}
        self._more: list[tuple[bytes, bytes]] = []
        for name, value in lines:
            key = name.lower()
            if key in self._first:
                self._more.append((key, value))
            else:
                self._first[key] = value

    @classmethod
    def of(cls, values: Mapping[str, str]) -> "Headers":
        """The same view of a mapping; a value beyond latin-1 raises `UnicodeEncodeError`."""
        return cls((name.encode("latin-1"), value.encode("latin-1")) for name, value in values.items())

    def get(self, name: str) -> str | None:
        """The value of the first line of this name, or None."""
        value = self._first.get(name.lower().encode("latin-1"))
        return None if value is None else _text(value)

    def all(self, name: str) -> tuple[str, ...]:
        """The values of all lines of this name, in order."""
        first = self.get(name)
        if first is None:
            return ()
        return (first, *self._repeats(name)) if self._more else (first,)

    def disagree(self, name: str) -> bool:
        """Whether lines of this name differ, so that one reader may see another value than the next."""
        return bool(self._more) and len(set(self.all(name))) > 1

    def _repeats(self, name: str) -> list[str]:
        key = name.lower().encode("latin-1")
        return [_text(value) for other, value in self._more if other == key]


NO_HEADERS: Final = Headers()
"""Those of every request on a transport that has none, where no header is missed."""


def _text(value: bytes) -> str:
    return value.decode("latin-1").strip(" \t")
