"""Which keys of `_meta` carry a trace, and what of them a propagator gets (Overview, "_meta")."""

from mcpfleet import tracecontext

PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


def test_the_keys_are_those_that_the_protocol_reserves() -> None:
    assert tracecontext.KEYS == ("traceparent", "tracestate", "baggage")
    assert tracecontext.KEYS == (tracecontext.TRACEPARENT, tracecontext.TRACESTATE, tracecontext.BAGGAGE)


def test_a_carrier_has_the_trace_and_nothing_else() -> None:
    meta = {"traceparent": PARENT, "tracestate": "a=1", "baggage": "", "progressToken": "t", "com.example/x": "y"}
    assert tracecontext.carrier(meta) == {"traceparent": PARENT, "tracestate": "a=1", "baggage": ""}
    assert tracecontext.carrier({}) == {}


def test_what_is_no_text_is_no_trace() -> None:
    assert tracecontext.carrier({"traceparent": 7, "tracestate": None, "baggage": ["a=1"]}) == {}
