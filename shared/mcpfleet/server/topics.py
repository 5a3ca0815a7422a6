"""What clients are told of: a list that changed, one thing in it, or a word to sessions. Each kind says how."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from mcpfleet.protocol import jsontext
from mcpfleet.protocol.messages.lifecycle import ServerCapabilities
from mcpfleet.protocol.messages.notifications import LogMessage
from mcpfleet.protocol.messages.subscriptions import SubscriptionFilter


class Topic(NamedTuple):
    """One of the lists ("tools", "prompts", "resources"), or ("resource", its URI)."""

    kind: str
    key: str = ""


TOOLS: Final = Topic("tools")
PROMPTS: Final = Topic("prompts")
RESOURCES: Final = Topic("resources")
RESOURCE: Final = "resource"
"""The kind of a single resource; the key is its URI."""

LISTS: Final = (TOOLS, PROMPTS, RESOURCES)

LOGGED: Final = "logged"
"""The kind of a log message that belongs to no request; the key is its parameters as JSON. Nobody watches it."""
COMPLETED: Final = "completed"
"""The kind of an elicitation that is done, which one session is told; the key is its id. Nobody watches it."""


@dataclass(frozen=True, slots=True)
class _Telling:
    method: str
    parameter: str | None = None
    """The name of the parameter that the key goes into."""


_TELLINGS: Final[Mapping[str, _Telling]] = {
    TOOLS.kind: _Telling("notifications/tools/list_changed"),
    PROMPTS.kind: _Telling("notifications/prompts/list_changed"),
    RESOURCES.kind: _Telling("notifications/resources/list_changed"),
    RESOURCE: _Telling("notifications/resources/updated", "uri"),
    COMPLETED: _Telling("notifications/elicitation/complete", "elicitationId"),
}


def told(topic: Topic) -> tuple[str, dict[str, Any]] | None:
    """The notification that tells a client of a topic: method and parameters; None: this kind is not told."""
    if topic.kind == LOGGED:
        return LogMessage.METHOD, jsontext.loads(topic.key.encode())
    telling = _TELLINGS.get(topic.kind)
    if telling is None:
        return None
    return telling.method, {} if telling.parameter is None else {telling.parameter: topic.key}


def offered(capabilities: ServerCapabilities) -> frozenset[str]:
    """The kinds of topic that a server with these capabilities tells of."""
    tools, prompts, resources = capabilities.tools, capabilities.prompts, capabilities.resources
    declared = {
        TOOLS.kind: tools is not None and tools.list_changed,
        PROMPTS.kind: prompts is not None and prompts.list_changed,
        RESOURCES.kind: resources is not None and resources.list_changed,
        RESOURCE: resources is not None and resources.subscribe,
    }
    return frozenset(kind for kind, is_declared in declared.items() if is_declared)


def wanted(by: SubscriptionFilter) -> frozenset[Topic]:
    """The topics that a client's filter names."""
    lists = (by.tools_list_changed, by.prompts_list_changed, by.resources_list_changed)
    named = {topic for topic, is_wanted in zip(LISTS, lists, strict=True) if is_wanted}
    return frozenset(named | {Topic(RESOURCE, uri) for uri in by.resource_subscriptions})


def filtering(topics: Iterable[Topic], asked: SubscriptionFilter) -> SubscriptionFilter:
    """The part of the filter that names these topics, in the filter's own order."""
    granted = frozenset(topics)
    uris = dict.fromkeys(asked.resource_subscriptions)
    return SubscriptionFilter(
        tools_list_changed=TOOLS in granted,
        prompts_list_changed=PROMPTS in granted,
        resources_list_changed=RESOURCES in granted,
        resource_subscriptions=tuple(uri for uri in uris if Topic(RESOURCE, uri) in granted),
    )
