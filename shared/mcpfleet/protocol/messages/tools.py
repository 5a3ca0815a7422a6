"""Tools: what is listed of them and what calling them gives ("Tools")."""

from collections.abc import Sequence
from typing import Any

from msgspec import UNSET, Struct, UnsetType, field

from mcpfleet.protocol.messages.content import ContentBlock, Icon


class ToolAnnotations(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """Hints on what a tool does; a client believes them only of a server it trusts."""

    title: str | None = None
    read_only_hint: bool | None = None
    destructive_hint: bool | None = None
    idempotent_hint: bool | None = None
    open_world_hint: bool | None = None


class Tool(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """A tool as a client sees it; `input_schema` has an object at its root, `output_schema` may have anything."""

    name: str
    title: str | None = None
    description: str | None = None
    input_schema: dict[str, Any]
    output_schema: dict[str, Any] | None = None
    annotations: ToolAnnotations | None = None
    icons: Sequence[Icon] | None = None
    meta: dict[str, Any] | None = field(default=None, name="_meta")


class ListToolsResult(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """One page of tools; `next_cursor` is absent on the last."""

    tools: Sequence[Tool]
    next_cursor: str | None = None
    meta: dict[str, Any] | None = field(default=None, name="_meta")


class CallToolResult(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """What a tool says: blocks for people and models, and one JSON value (null is one) for programs."""

    content: Sequence[ContentBlock]
    structured_content: Any | UnsetType = UNSET
    is_error: bool = False
    meta: dict[str, Any] | None = field(default=None, name="_meta")
