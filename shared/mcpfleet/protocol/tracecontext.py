"""W3C Trace Context in the `_meta` of requests ("Overview", section "_meta"): its reserved keys, and what they carry.

    with tracer.start_as_current_span("work", context=propagator.extract(tracecontext.carrier(ctx.meta))): ...

The server passes them on as they came, and depends on no tracing library.
"""

from collections.abc import Mapping
from typing import Any, Final

TRACEPARENT: Final = "traceparent"
TRACESTATE: Final = "tracestate"
BAGGAGE: Final = "baggage"
KEYS: Final = (TRACEPARENT, TRACESTATE, BAGGAGE)


def carrier(meta: Mapping[str, Any]) -> dict[str, str]:
    """The trace context of a request, as propagators take it; whatever is no text means nothing and is left out."""
    return {key: value for key in KEYS if isinstance(value := meta.get(key), str)}
