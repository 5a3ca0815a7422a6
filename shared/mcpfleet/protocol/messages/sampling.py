"""Questions to the client's language model ("Sampling")."""

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, Literal

from msgspec import UNSET, Struct, UnsetType, field

from mcpfleet.protocol.messages.content import AudioContent, ContentBlock, ImageContent, TextContent
from mcpfleet.protocol.messages.tools import Tool

Role = Literal["user", "assistant"]


class ModelHint(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """A name, or part of one, of a model that would do."""

    name: str | None = None


class ModelPreferences(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """Which model to choose; priorities are from 0 to 1."""

    hints: Sequence[ModelHint] | None = None
    cost_priority: float | None = None
    speed_priority: float | None = None
    intelligence_priority: float | None = None


class ToolUseContent(Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="type", tag="tool_use"):
    """The model wants a tool called."""

    id: str
    name: str
    input: dict[str, Any]
    meta: dict[str, Any] | None = field(default=None, name="_meta")


class ToolResultContent(
    Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", tag_field="type", tag="tool_result"
):
    """What the tool that the model wanted called has said."""

    tool_use_id: str
    content: Sequence[ContentBlock]
    structured_content: Any | UnsetType = UNSET
    is_error: bool = False
    meta: dict[str, Any] | None = field(default=None, name="_meta")


SamplingContent = TextContent | ImageContent | AudioContent | ToolUseContent | ToolResultContent


class SamplingMessage(Struct, frozen=True, omit_defaults=True):
    """One turn of the conversation: a block, or several."""

    role: Role
    content: SamplingContent | list[SamplingContent]
    meta: dict[str, Any] | None = field(default=None, name="_meta")

    @property
    def blocks(self) -> list[SamplingContent]:
        """The content, always as a list."""
        return self.content if isinstance(self.content, list) else [self.content]


class ToolChoice(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Whether the model may, must or must not want tools called."""

    mode: Literal["auto", "required", "none"] = "auto"


class CreateMessage(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """Ask the client's model to go on with a conversation; `ValueError` if tool uses and results do not stand where
    they must."""

    METHOD: ClassVar[str] = "sampling/createMessage"

    messages: Sequence[SamplingMessage]
    max_tokens: int
    system_prompt: str | None = None
    model_preferences: ModelPreferences | None = None
    include_context: Literal["none", "thisServer", "allServers"] | None = None
    temperature: float | None = None
    stop_sequences: Sequence[str] | None = None
    metadata: dict[str, Any] | None = None
    tools: Sequence[Tool] | None = None
    tool_choice: ToolChoice | None = None

    def __post_init__(self) -> None:
        fault = unbalanced(self.messages)
        if fault is not None:
            raise ValueError(fault)


class CreateMessageResult(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """What the model said."""

    role: Role
    content: SamplingContent | list[SamplingContent]
    model: str
    stop_reason: str | None = None
    meta: dict[str, Any] | None = field(default=None, name="_meta")

    @property
    def blocks(self) -> list[SamplingContent]:
        """The content, always as a list."""
        return self.content if isinstance(self.content, list) else [self.content]

    @property
    def text(self) -> str:
        """The text of all text blocks."""
        return "".join(block.text for block in self.blocks if isinstance(block, TextContent))


def unbalanced(messages: Sequence[SamplingMessage]) -> str | None:
    """What is wrong with the tool uses and results of a conversation ("Message Content Constraints"), if anything."""
    wanted: set[str] = set()
    for message in messages:
        results = {block.tool_use_id for block in message.blocks if isinstance(block, ToolResultContent)}
        if results and (message.role != "user" or not all(isinstance(b, ToolResultContent) for b in message.blocks)):
            return "tool results stand in a user message of their own"
        if results != wanted:
            return "every tool use is followed by a user message with its result, and by nothing else"
        wanted = set(_uses(message))
        if wanted and message.role != "assistant":
            return "tool uses stand in assistant messages"
    return "every tool use is followed by a user message with its result" if wanted else None


def _uses(message: SamplingMessage) -> Iterator[str]:
    return (block.id for block in message.blocks if isinstance(block, ToolUseContent))
