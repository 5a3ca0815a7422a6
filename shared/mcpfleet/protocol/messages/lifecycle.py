"""Who the two sides are and what they can do ("Lifecycle"; "Discovery")."""

from collections.abc import Sequence
from typing import Any

from msgspec import Struct, field

from mcpfleet.protocol.messages.content import Icon


class Implementation(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """The software of a client or server, by its own account."""

    name: str
    version: str
    title: str | None = None
    description: str | None = None
    website_url: str | None = None
    icons: Sequence[Icon] | None = None


class ListChangedCapability(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """There is a list, and perhaps word of its changes."""

    list_changed: bool = False


class ResourcesCapability(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """There are resources, and perhaps word of changes to their list or to each."""

    list_changed: bool = False
    subscribe: bool = False


class ServerCapabilities(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """What a server offers; absent means not offered."""

    tools: ListChangedCapability | None = None
    prompts: ListChangedCapability | None = None
    resources: ResourcesCapability | None = None
    logging: dict[str, Any] | None = None
    completions: dict[str, Any] | None = None
    extensions: dict[str, dict[str, Any]] | None = None
    experimental: dict[str, dict[str, Any]] | None = None


class InitializeResult(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """The legacy handshake's answer."""

    protocol_version: str
    capabilities: ServerCapabilities
    server_info: Implementation
    instructions: str | None = None
    meta: dict[str, Any] | None = field(default=None, name="_meta")


class DiscoverResult(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """The modern answer to the same question; the server's name is in `_meta`, as in every modern result."""

    supported_versions: Sequence[str]
    capabilities: ServerCapabilities
    instructions: str | None = None
    meta: dict[str, Any] | None = field(default=None, name="_meta")
