"""Which directories the client works on ("Roots")."""

from collections.abc import Sequence
from typing import Any, ClassVar

from msgspec import Struct, field


class Root(Struct, frozen=True, omit_defaults=True):
    """A directory or file, by its `file://` URI."""

    uri: str
    name: str | None = None
    meta: dict[str, Any] | None = field(default=None, name="_meta")


class ListRoots(Struct, frozen=True):
    """Ask for the roots."""

    METHOD: ClassVar[str] = "roots/list"


class ListRootsResult(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """All of them."""

    roots: Sequence[Root]
    meta: dict[str, Any] | None = field(default=None, name="_meta")
