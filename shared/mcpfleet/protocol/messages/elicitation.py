"""Questions to the user: a form to fill in, or a page to visit ("Elicitation")."""

import secrets
from typing import Any, ClassVar, Literal

from msgspec import Struct, field

from mcpfleet.protocol import uris

Action = Literal["accept", "decline", "cancel"]


class ElicitForm(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", tag_field="mode", tag="form"):
    """Ask for values; `requested_schema` is flat, see `protocol.forms`."""

    METHOD: ClassVar[str] = "elicitation/create"

    message: str
    requested_schema: dict[str, Any]


class ElicitUrl(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", tag_field="mode", tag="url"):
    """Ask the user to visit a page; what happens there stays between the two. `ValueError` for what is no URL.

    One revision has the id, and demands it; it is a random one unless it is given.
    """

    METHOD: ClassVar[str] = "elicitation/create"

    message: str
    url: str
    elicitation_id: str = field(default_factory=lambda: secrets.token_hex(16))

    def __post_init__(self) -> None:
        if not uris.is_url(self.url):
            raise ValueError("url must be absolute, such as https://example.com/page")


class ElicitResult(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """What the user did; `content` comes with an accepted form only."""

    action: Action
    content: dict[str, Any] | None = None
    meta: dict[str, Any] | None = field(default=None, name="_meta")
