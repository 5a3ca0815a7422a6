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

NOTIFICATIONS: Final = frozenset(
    {
        "notifications/cancelled",
        "notifications/elicitation/complete",
        "notifications/initialized",
        "notifications/message",
        "notifications/progress",
        "notifications/prompts/list_changed",
        "notifications/resources/list_changed",
        "notifications/resources/updated",
        "notifications/roots/list_changed",
        "notifications/subscriptions/acknowledged",
        "notifications/tools/list_changed",
    }
)
"""The notifications of all revisions, whichever side sends them."""

_SPACE: Final = "notifications/"
_RESERVED: Final = ("rpc.", "skills/", "tasks/")
"""How names begin that JSON-RPC reserves (section 4), or that official extensions have."""
_NAME: Final = re.compile(r"[A-Za-z0-9_$.-]+(?:/[A-Za-z0-9_$.-]+)*")
"""What stands in a header as it is, since `Mcp-Method` repeats it."""
MAX_NAME: Final = 128


def is_standard(name: str) -> bool:
    """Whether a name is the protocol's own, in any revision."""
    return name in STANDARD or name.startswith((_SPACE, *_RESERVED))


def is_standard_notification(name: str) -> bool:
    """Whether no author may take a name for a notification: all below `notifications/acme/` are free."""
    if name.startswith(_SPACE):
        inner = name.removeprefix(_SPACE)
        return name in NOTIFICATIONS or "/" not in inner or inner.startswith(_RESERVED)
    return is_standard(name)


def is_name(name: str) -> bool:
    """Whether a method can be called so on every transport."""
    return len(name) <= MAX_NAME and _NAME.fullmatch(name) is not None
