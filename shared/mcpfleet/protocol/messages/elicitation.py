"""Questions to the user: a form to fill in, or a page to visit ("Elicitation")."""

from typing import Any, ClassVar, Literal

from msgspec import Struct, field

Action = Literal["accept", "decline", "cancel"]


class ElicitForm(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", tag_field="mode", tag="form"):
    """Ask for values; `requested_schema` is flat, see `protocol.forms`."""

    METHOD: ClassVar[str] = "elicitation/create"

    message: str
    requested_schema: dict[str, Any]


class ElicitUrl(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", tag_field="mode", tag="url"):
    """Ask the user to visit a page; what happens there stays between the two. One revision has the id."""

    METHOD: ClassVar[str] = "elicitation/create"

    message: str
    url: str
    elicitation_id: str | None = None


class ElicitResult(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """What the user did; `content` comes with an accepted form only."""

    action: Action
    content: dict[str, Any] | None = None
    meta: dict[str, Any] | None = field(default=None, name="_meta")
