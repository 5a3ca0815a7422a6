"""Resources and their templates: what is listed of them and what reading one gives ("Resources")."""

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct, field

from mcpfleet.protocol.messages.content import Annotations, Icon, ResourceContents


class Resource(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """A resource as a client sees it; `size` is in bytes."""

    uri: str
    name: str
    title: str | None = None
    description: str | None = None
    mime_type: str | None = None
    size: Annotated[int, Meta(ge=0)] | None = None
    annotations: Annotations | None = None
    icons: Sequence[Icon] | None = None
    meta: dict[str, Any] | None = field(default=None, name="_meta")


class ResourceTemplate(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """Resources whose URIs are alike; `uri_template` says how (RFC 6570)."""

    uri_template: str
    name: str
    title: str | None = None
    description: str | None = None
    mime_type: str | None = None
    annotations: Annotations | None = None
    icons: Sequence[Icon] | None = None
    meta: dict[str, Any] | None = field(default=None, name="_meta")


class ListResourcesResult(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """One page of resources; `next_cursor` is absent on the last."""

    resources: Sequence[Resource]
    next_cursor: str | None = None
    meta: dict[str, Any] | None = field(default=None, name="_meta")


class ListResourceTemplatesResult(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """One page of templates; `next_cursor` is absent on the last."""

    resource_templates: Sequence[ResourceTemplate]
    next_cursor: str | None = None
    meta: dict[str, Any] | None = field(default=None, name="_meta")


class ReadResourceResult(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """What is at a URI: one or several contents; a cache hint of its own goes before the resource's."""

    contents: Sequence[ResourceContents]
    ttl_ms: int | None = None
    cache_scope: Literal["public", "private"] | None = None
    meta: dict[str, Any] | None = field(default=None, name="_meta")
