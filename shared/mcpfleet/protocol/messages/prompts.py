"""Prompts: what is listed of them and what filling one in gives ("Prompts")."""

from collections.abc import Sequence
from typing import Any, Literal

from msgspec import Struct, field

from mcpfleet.protocol.messages.content import ContentBlock, Icon, TextContent


class PromptArgument(Struct, frozen=True, omit_defaults=True, rename="camel"):
    """One argument of a prompt; its values are strings."""

    name: str
    title: str | None = None
    description: str | None = None
    required: bool = False


class Prompt(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """A prompt as a client sees it."""

    name: str
    title: str | None = None
    description: str | None = None
    arguments: Sequence[PromptArgument] | None = None
    icons: Sequence[Icon] | None = None
    meta: dict[str, Any] | None = field(default=None, name="_meta")


class ListPromptsResult(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """One page of prompts; `next_cursor` is absent on the last."""

    prompts: Sequence[Prompt]
    next_cursor: str | None = None
    meta: dict[str, Any] | None = field(default=None, name="_meta")


class PromptMessage(Struct, frozen=True, rename="camel"):
    """One message of a conversation: who says it, and one block of content."""

    role: Literal["user", "assistant"]
    content: ContentBlock

    @classmethod
    def user(cls, content: ContentBlock | str) -> "PromptMessage":
        """What the user says."""
        return cls("user", TextContent(content) if isinstance(content, str) else content)

    @classmethod
    def assistant(cls, content: ContentBlock | str) -> "PromptMessage":
        """What the model is made to have said."""
        return cls("assistant", TextContent(content) if isinstance(content, str) else content)


class GetPromptResult(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """The messages of a prompt with its arguments filled in."""

    messages: Sequence[PromptMessage]
    description: str | None = None
    meta: dict[str, Any] | None = field(default=None, name="_meta")
