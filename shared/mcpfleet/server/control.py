"""What a session's log carries for whoever runs the session's calls or holds its standalone stream."""

import msgspec


class Cancel(msgspec.Struct, frozen=True, tag="cancel", omit_defaults=True):
    """The client cancels a request; `exchange` names the very call where its process had registered it."""

    request: str
    """The request's id as JSON text, so that `1` and `"1"` differ and no integer is too large."""
    exchange: str | None = None


class Holder(msgspec.Struct, frozen=True, tag="holder"):
    """A connection took over the standalone stream: what follows in the log is its own to deliver."""

    token: str
    resumes: bool
    """Whether it resumes an earlier connection, which then ends, or stands beside it, which then falls silent."""


class Signal(msgspec.Struct, frozen=True):
    """One entry of a session's log."""

    body: Cancel | Holder


class Registration(msgspec.Struct, frozen=True):
    """Which call a cancel of a request id means: the one that registered last."""

    exchange: str
