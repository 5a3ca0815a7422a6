"""What a server declares of itself, from what is registered ("Capabilities" of each feature)."""

import re
from collections.abc import Mapping
from typing import Any, Final, Literal

from mcpfleet.errors import RegistrationError
from mcpfleet.protocol import jsontext, skills
from mcpfleet.protocol.messages.lifecycle import ListChangedCapability, ResourcesCapability, ServerCapabilities
from mcpfleet.protocol.tasks import EXTENSION as TASKS
from mcpfleet.server.registry import Registry

Feature = Literal["tools", "prompts", "resources", "completions", "skills", "tasks"]

FEATURES: Final[dict[str, Feature]] = {
    "tools/list": "tools",
    "tools/call": "tools",
    "prompts/list": "prompts",
    "prompts/get": "prompts",
    "resources/list": "resources",
    "resources/read": "resources",
    "resources/templates/list": "resources",
    "resources/directory/read": "skills",
    "completion/complete": "completions",
    "skills/list": "skills",
    "skills/get": "skills",
}
"""The feature that each method belongs to; the methods of what is not declared do not exist."""


Extensions = Mapping[str, dict[str, Any]]
"""Settings by the extension's identifier."""

_LABEL: Final = "[A-Za-z](?:[A-Za-z0-9-]*[A-Za-z0-9])?"
_IDENTIFIER: Final = re.compile(rf"{_LABEL}(?:\.{_LABEL})*/[A-Za-z0-9](?:[A-Za-z0-9_.-]*[A-Za-z0-9])?")
"""A name with a prefix ("Overview", section "_meta", "Key name format")."""


def capabilities(registry: Registry, extensions: Extensions, *, tasks: bool = False) -> ServerCapabilities:
    """All that is declared: clients hear of every change, in either era; `tasks`: if there are any, too."""
    declared = {**extensions}
    if offers(registry, "skills"):
        declared |= skills.EXTENSION
    if tasks and offers(registry, "tasks"):
        declared |= TASKS
    changes = ListChangedCapability(list_changed=True)
    watched = ResourcesCapability(list_changed=True, subscribe=True)
    return ServerCapabilities(
        tools=changes,
        prompts=changes if offers(registry, "prompts") else None,
        resources=watched if offers(registry, "resources") else None,
        completions={} if offers(registry, "completions") else None,
        logging={},
        extensions=declared or None,
    )


def checked_extensions(extensions: Extensions) -> Extensions:
    """A copy of them; `RegistrationError` for an identifier without a prefix, or settings that are no JSON object."""
    for identifier, settings in extensions.items():
        if not _IDENTIFIER.fullmatch(identifier):
            raise RegistrationError(f"{identifier!r} identifies no extension, as com.example/feature does")
        if not isinstance(settings, Mapping):
            raise RegistrationError(f"the settings of the extension {identifier!r} must be a JSON object")
    try:
        copy: Extensions = jsontext.loads(jsontext.dumps(dict(extensions)))
    except jsontext.NotJson as error:
        raise RegistrationError(f"the settings of the extensions are not JSON: {error}") from None
    return copy


def offers(registry: Registry, feature: Feature) -> bool:
    """Whether a server with this registry has the feature; tools it always has, be there none."""
    match feature:
        case "tools":
            return True
        case "prompts":
            return bool(registry.prompts)
        case "resources":
            return any((registry.resources, registry.templates, registry.listers, registry.readers, registry.skills))
        case "completions":
            return bool(registry.completers) or _has_choices(registry)
        case "skills":
            return bool(registry.skills)
        case "tasks":
            return registry.makes_tasks


def _has_choices(registry: Registry) -> bool:
    """Whether the hints of any argument tell all that it can be."""
    takers = [prompt.arguments for prompt in registry.prompts]
    takers += [template.reading.variables for template in registry.templates]
    return any(taker.choices(name) for taker in takers for name in taker.names)
