"""The revisions of the protocol and what each of them knows: the only module with dates.

A revision is a row of facts, and each row is written as its difference from the one before it. Code elsewhere asks for
the fact it needs and never compares dates.
"""

from dataclasses import dataclass, replace
from enum import Enum
from typing import Final


class Era(Enum):
    """How a client introduces itself: once, by a handshake (legacy), or on every request (modern)."""

    LEGACY = "legacy"
    MODERN = "modern"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Revision:
    """One revision of the protocol; there is one object for each, so compare with `is`."""

    date: str
    era: Era = Era.LEGACY

    batches: bool = False
    """A body may be an array of messages."""
    version_header: bool = False
    """Every message over HTTP after the handshake names the revision in a header."""
    priming_event: bool = False
    """A response stream begins with an event of an id and empty data; older clients would parse the empty data."""
    server_requests: bool = True
    """The server may send requests of its own; otherwise it answers `input_required`."""
    resumption: bool = True
    """A stream may be taken up again with `Last-Event-ID`."""

    audio: bool = False
    resource_links: bool = False
    last_modified: bool = False
    """Annotations may have `lastModified`."""
    content_meta: bool = False
    """Content blocks, resources and tools may have `_meta`, as results always may."""

    tool_annotations: bool = False
    structured_output: bool = False
    non_object_output: bool = False
    """Structured output and its schema may be of any type; otherwise the root is an object."""
    titles: bool = False
    icons: bool = False
    """Icons; and of an implementation its `description` and `websiteUrl`, which came with them."""

    progress_message: bool = False
    completions: bool = False
    """The capability `completions` is declared."""
    elicitation: bool = False
    url_elicitation: bool = False
    rich_forms: bool = False
    """Forms may have titled choices, choices of several, and a default for every kind of field."""
    elicitation_complete: bool = False
    """`notifications/elicitation/complete`, `elicitationId` and error -32042 exist."""

    sampling_tools: bool = False
    """Sampling may offer tools, and a message may have several blocks and `_meta`; the client declares more of it."""

    result_type: bool = False
    cache_hints: bool = False
    server_info_stamp: bool = False
    """Every result names the server in its `_meta`."""
    resource_not_found: int = -32002
    """The error code for a resource that does not exist."""


_2024_11_05 = Revision(date="2024-11-05")
_2025_03_26 = replace(
    _2024_11_05,
    date="2025-03-26",
    batches=True,
    audio=True,
    tool_annotations=True,
    progress_message=True,
    completions=True,
)
_2025_06_18 = replace(
    _2025_03_26,
    date="2025-06-18",
    batches=False,
    version_header=True,
    resource_links=True,
    last_modified=True,
    content_meta=True,
    structured_output=True,
    titles=True,
    elicitation=True,
)
_2025_11_25 = replace(
    _2025_06_18,
    date="2025-11-25",
    priming_event=True,
    icons=True,
    url_elicitation=True,
    rich_forms=True,
    sampling_tools=True,
    elicitation_complete=True,
)
_2026_07_28 = replace(
    _2025_11_25,
    date="2026-07-28",
    era=Era.MODERN,
    priming_event=False,
    server_requests=False,
    resumption=False,
    non_object_output=True,
    elicitation_complete=False,
    result_type=True,
    cache_hints=True,
    server_info_stamp=True,
    resource_not_found=-32602,
)

REVISIONS: Final = (_2024_11_05, _2025_03_26, _2025_06_18, _2025_11_25, _2026_07_28)
"""Every revision that is spoken here, oldest first."""

OLDEST: Final = _2024_11_05
LATEST: Final = _2026_07_28
LATEST_LEGACY: Final = _2025_11_25
ASSUMED: Final = _2025_03_26
"""What a legacy request means whose revision neither a header nor its session tells."""

ALL_DATES: Final = tuple(revision.date for revision in reversed(REVISIONS))
"""Every date, newest first."""
MODERN_DATES: Final = tuple(revision.date for revision in reversed(REVISIONS) if revision.era is Era.MODERN)
LEGACY_DATES: Final = tuple(revision.date for revision in reversed(REVISIONS) if revision.era is Era.LEGACY)

_BY_DATE: Final = {revision.date: revision for revision in REVISIONS}


def find(date: str) -> Revision | None:
    """The revision of exactly this date, if it is spoken here."""
    return _BY_DATE.get(date)


def spoken(pin: Revision | None = None) -> tuple[str, ...]:
    """What `server/discover` lists and a refused version is told, newest first; of the legacy ones only the pinned, if
    one is."""
    return ALL_DATES if pin is None else (*MODERN_DATES, pin.date)


def negotiate(requested: str, pin: Revision | None = None) -> Revision:
    """What `initialize` answers: the requested legacy revision, else the latest legacy one (Lifecycle, "Version
    Negotiation"); where a legacy revision is pinned, that one to everybody."""
    if pin is not None:
        return pin
    revision = find(requested)
    return revision if revision is not None and revision.era is Era.LEGACY else LATEST_LEGACY
