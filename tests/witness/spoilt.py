"""What messages are written with in place of `jsontext`, so that each of them has a fault."""

from types import SimpleNamespace
from typing import Any, Final

from mcpfleet.protocol import jsontext


def _dumps(message: dict[str, Any]) -> bytes:
    return jsontext.dumps({**message, "jsonrpc": "1.0"})


SPOILT: Final = SimpleNamespace(**{**vars(jsontext), "dumps": _dumps})
