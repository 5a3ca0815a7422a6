"""Who is tried out with what: every official client in each era and over each transport that it has, with each feature.

A test names the feature that it is about, `@shows("ping")`, and runs once for each subject, but for those of which
`MISSING` says why they cannot do that.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from typing import Any, Final, Literal

import pytest

Client = Literal["python", "typescript", "typescript-v1"]
Era = Literal["legacy", "modern"]
Transport = Literal["http", "sse", "stdio"]

LEGACY: Final = "2025-11-25"
MODERN: Final = "2026-07-28"


@dataclass(frozen=True, slots=True)
class Subject:
    """A client in an era, over a transport."""

    client: Client
    era: Era
    transport: Transport

    @property
    def modern(self) -> bool:
        return self.era == "modern"

    @property
    def version(self) -> str:
        """The revision that it agrees on with a server that has all."""
        return MODERN if self.modern else LEGACY

    def __str__(self) -> str:
        return f"{self.client}-{self.era}-{self.transport}"


@dataclass(frozen=True, slots=True)
class Missing:
    """What some subjects cannot do: all that this does not tell apart."""

    feature: str
    because: str
    client: Client | None = None
    era: Era | None = None
    transport: Transport | None = None

    def concerns(self, subject: Subject) -> bool:
        """Whether the subject is one of them."""
        mine = (self.client, self.era, self.transport)
        its = (subject.client, subject.era, subject.transport)
        return all(one is None or one == other for one, other in zip(mine, its, strict=True))


CLIENTS: Final = ("python", "typescript", "typescript-v1")
SUBJECTS: Final = tuple(
    Subject(client, era, transport)  # type: ignore[arg-type]  # mypy does not follow literals through a product
    for client, era, transport in product(CLIENTS, ("legacy", "modern"), ("http", "sse", "stdio"))
    if (client, era) != ("typescript-v1", "modern") and (era, transport) != ("modern", "sse")
)
"""Version 1 of the TypeScript SDK knows no modern revision, and no modern revision has the oldest transport."""

MISSING: Final = (
    Missing("log levels of a session", "a modern request says itself what it wants to hear", era="modern"),
    Missing("log levels of a request", "the level is the session's", era="legacy"),
    Missing("ping", "the revision has none", era="modern"),
    Missing("resources/subscribe", "subscriptions/listen is in its place", era="modern"),
    Missing("news without a subscription", "subscriptions/listen is in its place", era="modern"),
    Missing("subscriptions/listen", "the revision has none", era="legacy"),
    Missing("refusals to answer", "no retry can carry an error, so the client ends the call", era="modern"),
    Missing("questions under way", "a question ends the call", era="modern"),
    Missing("news of roots", "the revision has none", era="modern"),
    Missing("word that a page is done with", "the revision has none", era="modern"),
    Missing("a demand to visit a page first", "it is asked to, and tries again", era="modern"),
    Missing("visits asked for by a result", "an error demands them", era="legacy"),
    Missing("sessions", "the revision has none", era="modern"),
    Missing("sessions", "a session ends with its connection", transport="sse"),
    Missing("sessions", "a session ends with its process", transport="stdio"),
    Missing("resumption", "the revision has none", era="modern"),
    Missing("resumption", "its events have no ids", transport="sse"),
    Missing("resumption", "there is nothing to take up again", transport="stdio"),
    Missing("older revisions", "it speaks the one revision of its era", era="modern"),
    Missing("discovery", "the handshake is in its place", era="legacy"),
    Missing("rounds by hand", "it is asked by requests", era="legacy"),
    Missing("freshness", "the revision has none", era="legacy"),
    Missing("arguments in headers", "the revision has none", era="legacy"),
    Missing("arguments in headers", "there are no headers", transport="stdio"),
    Missing("skills that are verified", "it leaves the extension to its host", client="python"),
    Missing("skills that are verified", "it leaves the extension to its host", client="typescript-v1"),
    Missing("several processes", "there is one", transport="stdio"),
)


def shows(feature: str, *transports: Transport) -> Callable[[Any], Any]:
    """Run a test about this feature for each subject that can do it, over these transports, or all."""
    those = [
        subject
        for subject in SUBJECTS
        if can(subject, feature) and subject.transport in (transports or subject.transport)
    ]
    return pytest.mark.parametrize("subject", those, ids=str)


def can(subject: Subject, feature: str) -> bool:
    """Whether nothing says that it cannot."""
    return not any(missing.feature == feature and missing.concerns(subject) for missing in MISSING)
