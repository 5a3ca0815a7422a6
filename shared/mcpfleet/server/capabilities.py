"""What a server declares of itself, from what is registered ("Capabilities" of each feature)."""

from typing import Final, Literal

from mcpfleet.protocol.messages.lifecycle import ListChangedCapability, ResourcesCapability, ServerCapabilities
from mcpfleet.server.registry import Registry

Feature = Literal["tools", "prompts", "resources", "completions"]

FEATURES: Final[dict[str, Feature]] = {
    "tools/list": "tools",
    "tools/call": "tools",
    "prompts/list": "prompts",
    "prompts/get": "prompts",
    "resources/list": "resources",
    "resources/read": "resources",
    "resources/templates/list": "resources",
    "completion/complete": "completions",
}
"""The feature that each method belongs to; the methods of what is not declared do not exist."""


def capabilities(registry: Registry) -> ServerCapabilities:
    """All that is declared: clients hear of every change, in either era."""
    changes = ListChangedCapability(list_changed=True)
    watched = ResourcesCapability(list_changed=True, subscribe=True)
    return ServerCapabilities(
        tools=changes,
        prompts=changes if offers(registry, "prompts") else None,
        resources=watched if offers(registry, "resources") else None,
        completions={} if offers(registry, "completions") else None,
        logging={},
    )


def offers(registry: Registry, feature: Feature) -> bool:
    """Whether a server with this registry has the feature; tools it always has, be there none."""
    match feature:
        case "tools":
            return True
        case "prompts":
            return bool(registry.prompts)
        case "resources":
            return any((registry.resources, registry.templates, registry.listers, registry.readers))
        case "completions":
            return bool(registry.completers) or _has_choices(registry)


def _has_choices(registry: Registry) -> bool:
    """Whether the hints of any argument tell all that it can be."""
    takers = [prompt.arguments for prompt in registry.prompts]
    takers += [template.reading.variables for template in registry.templates]
    return any(taker.choices(name) for taker in takers for name in taker.names)
