"""The headers of one request, without an HTTP library's type."""

from collections.abc import Iterable, Mapping


class Headers:
    """An immutable view of header lines that ignores the case of names and the blanks around values."""

    __slots__ = ("_lines",)

    def __init__(self, lines: Iterable[tuple[bytes, bytes]] = ()) -> None:
        found: dict[str, tuple[bytes, ...]] = {}
        for name, value in lines:
            key = name.decode("latin-1").lower()
            found[key] = (*found.get(key, ()), value)
        self._lines = found

    @classmethod
    def of(cls, values: Mapping[str, str]) -> "Headers":
        """The same view of a mapping; a value beyond latin-1 raises `UnicodeEncodeError`."""
        return cls((name.encode("latin-1"), value.encode("latin-1")) for name, value in values.items())

    def get(self, name: str) -> str | None:
        """The value of the first line of this name, or None."""
        lines = self._lines.get(name.lower())
        return lines[0].decode("latin-1").strip(" \t") if lines else None

    def all(self, name: str) -> tuple[str, ...]:
        """The values of all lines of this name, in order."""
        return tuple(value.decode("latin-1").strip(" \t") for value in self._lines.get(name.lower(), ()))

    def disagree(self, name: str) -> bool:
        """Whether lines of this name differ, so that one reader may see another value than the next."""
        lines = self._lines.get(name.lower(), ())
        return len(lines) > 1 and len(set(self.all(name))) > 1
