"""The names of methods: which belong to the protocol, and which an author may take."""

import re
from typing import Final

STANDARD: Final = frozenset(
    {
        "initialize",
        "ping",
        "logging/setLevel",
        "completion/complete",
        "elicitation/create",
        "prompts/get",
        "prompts/list",
        "resources/directory/read",
        "resources/list",
        "resources/read",
        "resources/subscribe",
        "resources/templates/list",
        "resources/unsubscribe",
        "roots/list",
        "sampling/createMessage",
        "server/discover",
        "subscriptions/listen",
        "tools/call",
        "tools/list",
    }
)
"""The requests of all revisions, whichever side sends them, and what extensions have beside names of their own."""

_RESERVED: Final = ("notifications/", "rpc.", "skills/", "tasks/")
"""How names begin that JSON-RPC reserves (section 4), that mean notifications, or that official extensions have."""
_NAME: Final = re.compile(r"[A-Za-z0-9_$.-]+(?:/[A-Za-z0-9_$.-]+)*")
"""What stands in a header as it is, since `Mcp-Method` repeats it."""
MAX_NAME: Final = 128


def is_standard(name: str) -> bool:
    """Whether a name is the protocol's own, in any revision."""
    return name in STANDARD or name.startswith(_RESERVED)


def is_name(name: str) -> bool:
    """Whether a method can be called so on every transport."""
    return len(name) <= MAX_NAME and _NAME.fullmatch(name) is not None
