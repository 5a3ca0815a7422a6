"""The trace that the message being served belongs to, as whoever observes it knows it.

The library traces nothing itself: an observer around all messages says here which span is the current one, and what
goes on elsewhere, as a task does, takes that along.
"""

from collections.abc import Mapping
from contextvars import ContextVar
from types import MappingProxyType
from typing import Final

NO_TRACE: Final[Mapping[str, str]] = MappingProxyType({})
CURRENT: Final[ContextVar[Mapping[str, str]]] = ContextVar("mcpfleet trace", default=NO_TRACE)
"""The span that serves the current message, in the words of W3C Trace Context; empty where nobody observes."""
