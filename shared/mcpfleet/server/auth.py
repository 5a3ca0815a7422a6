"""Who is asking: the principal that authentication found, carried to every layer and stored with every record."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from mcpfleet.protocol.headers import Headers


@dataclass(frozen=True, slots=True)
class Principal:
    """One authenticated party: what it owns is owned by (issuer, subject, client) together.

    `claims` are the current request's and take no part in ownership, so a refreshed token of the same party keeps
    access to what the party made.
    """

    subject: str
    issuer: str = ""
    client: str = ""
    claims: Mapping[str, Any] = field(default_factory=dict, compare=False)

    @property
    def owner(self) -> tuple[str, str, str]:
        """What is stored with a record and compared on each later request."""
        return self.issuer, self.subject, self.client


Authenticate = Callable[[Headers], "Principal | Awaitable[Principal | None] | None"]
"""From a request's headers to its principal; None refuses the request with 401."""

ANYONE = ("", "", "")
"""The owner of what is made without authentication."""


def owner_of(principal: Principal | None) -> tuple[str, str, str]:
    """The owner under which a request of this principal reads and writes."""
    return ANYONE if principal is None else principal.owner
