"""Suggestions for the arguments of prompts and resource templates ("Completion")."""

from collections.abc import Sequence
from typing import Any, Final

from msgspec import Struct, field

MAX_VALUES: Final = 100
"""How many values one result may hold ("Completion Results")."""


class Completion(Struct, frozen=True, omit_defaults=True, rename="camel"):
    """Suggestions, best first; `total` counts also those that are left out."""

    values: Sequence[str]
    total: int | None = None
    has_more: bool | None = None


class CompleteResult(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """What could stand for an argument."""

    completion: Completion
    meta: dict[str, Any] | None = field(default=None, name="_meta")
