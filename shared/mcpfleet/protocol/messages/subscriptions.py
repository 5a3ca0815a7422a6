"""What a client asks to be told of, and what it is told first ("Subscriptions")."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Final

import msgspec
from msgspec import Meta, Struct

from mcpfleet.protocol import uris
from mcpfleet.protocol.tasks import MAX_LISTENED

MAX_WATCHED: Final = 1000
"""How many resources one client may watch at once, on one stream or in one session."""
MAX_URI: Final = 4096
MAX_TASK_ID: Final = 128

Uri = Annotated[str, Meta(max_length=MAX_URI)]
TaskId = Annotated[str, Meta(max_length=MAX_TASK_ID)]


class SubscriptionFilter(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """What is to be told on one stream; what is not named is never told."""

    tools_list_changed: bool = False
    prompts_list_changed: bool = False
    resources_list_changed: bool = False
    resource_subscriptions: Annotated[tuple[Uri, ...], Meta(max_length=MAX_WATCHED)] = ()
    task_ids: Annotated[tuple[TaskId, ...], Meta(max_length=MAX_LISTENED)] = ()
    """What the extension `io.modelcontextprotocol/tasks` has added."""


class Acknowledged(Struct, frozen=True, kw_only=True):
    """The first message of a stream: which part of the filter is honoured."""

    METHOD: ClassVar[str] = "notifications/subscriptions/acknowledged"

    notifications: SubscriptionFilter


def is_watchable(uri: Any) -> bool:
    """Whether a resource that clients may watch could be called so."""
    return isinstance(uri, str) and len(uri) <= MAX_URI and uris.is_uri(uri)


def read_filter(params: Mapping[str, Any]) -> SubscriptionFilter | str:
    """The filter in the parameters of `subscriptions/listen`, or what is wrong with them; fields not known here, and
    those that are null, ask for nothing."""
    given = params.get("notifications")
    if not isinstance(given, dict):
        return "params.notifications must be an object"
    asked = {name: value for name, value in given.items() if value is not None}
    try:
        found = msgspec.convert(asked, SubscriptionFilter)
    except msgspec.ValidationError as error:
        return f"params.notifications: {error}"
    if not all(map(is_watchable, found.resource_subscriptions)):
        return "params.notifications.resourceSubscriptions must be absolute URIs"
    return found
