"""The trace that a request belongs to, as its `_meta` carries it ("Overview", section "_meta")."""

from importlib.util import find_spec


def current() -> dict[str, str]:
    """The present trace context by its reserved keys; empty without OpenTelemetry, or outside of any trace."""
    carrier: dict[str, str] = {}
    if find_spec("opentelemetry") is not None:
        from opentelemetry import propagate  # noqa: PLC0415 - an extra of the bare library

        propagate.inject(carrier)
    return carrier
