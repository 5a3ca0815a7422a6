"""A server like `basic` whose every message has a fault: whoever looks at what it says must find one in each."""

from mcpfleet.protocol import jsonrpc
from tests.servers.basic import server
from tests.witness.spoilt import SPOILT

__all__ = ["server"]

vars(jsonrpc)["jsontext"] = SPOILT
