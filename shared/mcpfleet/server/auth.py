"""Who is asking: the principal that authentication found, carried to every layer and stored with every record."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from mcpfleet.protocol.headers import Headers


@dataclass(frozen=True, slots=True)
class Principal:
    """One authenticated party: what it owns is owned by (issuer, subject, client) together.

    `claims` are the current request's and take no part in ownership, so a refreshed token of the same party keeps
    access to what the party made. `expires`, in Unix seconds, is when the current token does: streams that it opened
    end then. `state` is what whoever authenticated wants found in `Context.state` while this request is served.
    """

    subject: str
    issuer: str = ""
    client: str = ""
    claims: Mapping[str, Any] = field(default_factory=dict, compare=False)
    expires: float | None = field(default=None, compare=False)
    state: Mapping[str, Any] = field(default_factory=dict, compare=False, repr=False)

    @property
    def owner(self) -> tuple[str, str, str]:
        """What is stored with a record and compared on each later request."""
        return self.issuer, self.subject, self.client


Authenticate = Callable[[Headers], "Principal | Awaitable[Principal | None] | None"]
"""From a request's headers to its principal; None refuses the request with 401."""

ANYONE = ("", "", "")
"""The owner of what is made without authentication."""


def remaining(principal: Principal | None, now: float) -> float | None:
    """For how many seconds from `now` a stream of the principal may stay open; None: for any time."""
    return None if principal is None or principal.expires is None else max(0.0, principal.expires - now)


def owner_of(principal: Principal | None) -> tuple[str, str, str]:
    """The owner under which a request of this principal reads and writes."""
    return ANYONE if principal is None else principal.owner
