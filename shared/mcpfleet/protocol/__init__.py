"""The protocol as pure functions: bytes and headers in, values out; no clock, no I/O, nothing awaited.

Theory of operation. A request comes in as a method, `headers.Headers` and a body. `inbound.classify` reads the body
once (`jsontext` to a JSON value, `jsonrpc` to a message), decides the era from the header and `_meta`, and climbs that
era's ladder, one rung a function; it returns either what the engine serves or a `Rejected`, which is a value and knows
its own answer. The engine makes a result in the newest words (`messages`), `wire.dress` brings it into the shape of the
caller's revision, `jsonrpc.encode_reply` writes it, and `sse.encode` frames it where the answer is a stream. What a
revision knows is a row of facts in `revisions`, the only module with dates.

The client goes the same way from the other side: `headers.param_headers` and `encode_value` write what `classify` and
`headers.mismatch` check, and `sse.Decoder` reads what `sse.encode` wrote.
"""
