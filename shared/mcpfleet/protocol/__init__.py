"""The protocol as pure functions: bytes and headers in, values out; no clock, no I/O."""
