"""What a tool returns, as the result that the client reads.

Text, content blocks and `None` are for models: content, and nothing else. Any other value is data: one JSON value, its
text beside it for clients that read only content. Its schema comes from the return annotation, and is that of the
value itself, whatever it is; revisions that know objects only are served by `protocol.wire`.
"""

import typing
from collections.abc import Sequence
from types import NoneType
from typing import Any, Final, Never, NoReturn, get_args, get_origin

import msgspec

from mcpfleet.errors import OutputRefused, ToolError
from mcpfleet.protocol import jsontext
from mcpfleet.protocol.messages.content import ContentBlock, TextContent
from mcpfleet.protocol.messages.tools import CallToolResult
from mcpfleet.protocol.questions import InputRequiredResult
from mcpfleet.server.derived import describe, document
from mcpfleet.server.hints import members
from mcpfleet.server.readable import readable
from mcpfleet.server.schema import Schema
from mcpfleet.server.shapes import Shape, shape, to_json

BLOCKS: Final = get_args(ContentBlock)
MAX_DEPTH: Final = 64

_UNDECLARED: Final = (Any, object, str, NoneType, Never, NoReturn)
"""Return types that say nothing of data."""
_LISTS: Final = (list, tuple, Sequence)
"""And these, as long as they say nothing of what is in them: that may be blocks."""


class Output:
    """Turns return values into results, checked against the output schema where there is one."""

    __slots__ = ("_of_blocks", "_schema", "_shape")

    def __init__(self, schema: Schema | None, by: Shape | None = None, *, of_blocks: bool = False) -> None:
        """`by` writes values; `of_blocks`: content was declared, so that an empty list means no content."""
        self._schema = schema
        self._shape = by
        self._of_blocks = of_blocks

    @property
    def schema(self) -> dict[str, Any] | None:
        """The output schema to publish."""
        return None if self._schema is None else self._schema.document

    def result(self, value: Any) -> CallToolResult:
        """The result for a returned value; one that is a result already passes, with its structured content checked.

        Raises `OutputRefused` for a value that breaks the schema, and `ToolError` for one that JSON cannot carry.
        """
        if isinstance(value, CallToolResult):
            return self._passed(value)
        if self._schema is None:
            content = self._content(value)
            if content is not None:
                return CallToolResult(content=content)
        structured, text = self._structured(value)
        return CallToolResult(content=(TextContent(text),), structured_content=structured)

    def _content(self, value: Any) -> tuple[Any, ...] | None:
        """The blocks that a value is to be shown as; None if it is data."""
        if value is None:
            return ()
        if isinstance(value, str):
            return (_text(value),)
        if isinstance(value, BLOCKS):
            return (_block(value),)
        if isinstance(value, list | tuple) and (self._of_blocks or any(isinstance(item, BLOCKS) for item in value)):
            return tuple(map(_block, value))
        return None

    def _passed(self, result: CallToolResult) -> CallToolResult:
        readable(msgspec.structs.replace(result, structured_content=msgspec.UNSET))
        if result.is_error:
            return result
        if result.structured_content is msgspec.UNSET:
            if self._schema is not None:
                raise OutputRefused("the tool has an output schema, but its result has no structured content")
            return result
        structured, text = self._structured(result.structured_content)
        content = result.content or (TextContent(text),)
        return msgspec.structs.replace(result, content=content, structured_content=structured)

    def _structured(self, value: Any) -> tuple[Any, str]:
        try:
            structured = to_json(value) if self._shape is None else self._shape.write(value)
        except (TypeError, ValueError, RecursionError) as error:
            raise OutputRefused(f"the tool returned what has no JSON form: {error}") from error
        try:
            text = jsontext.dumps(structured)
            if text.count(b"[") + text.count(b"{") > MAX_DEPTH:
                jsontext.loads(text, max_depth=MAX_DEPTH)
        except jsontext.NotJson as error:
            raise ToolError(f"The result cannot be sent as JSON: {error}") from None
        if self._schema is not None and not self._schema.accepts(structured):
            complaints = "; ".join(self._schema.complaints(structured, "result"))
            raise OutputRefused(f"the tool's result breaks its output schema: {complaints}")
        return structured, text.decode()


def from_hint(hint: Any, where: str) -> Output:
    """The output that a return annotation declares; `RegistrationError` if no schema can be made of it."""
    kinds = tuple(kind for kind in members(hint) if kind is not InputRequiredResult)
    if len(kinds) < len(members(hint)):  # it is no output, but what comes before one
        hint = typing.Union[kinds] if kinds else Any  # noqa: UP007 - its members are known only now
    if any(map(_is_content, kinds)):
        return Output(None, of_blocks=True)
    if all(map(_is_undeclared, kinds)):
        return Output(None)
    where = f"{where}: return type"
    by = shape(hint, where, "serialization")
    [schema], definitions = describe([by], "serialization")
    return Output(Schema(document(schema, definitions), where), by)


def _is_undeclared(hint: Any) -> bool:
    if (get_origin(hint) or hint) in _LISTS:
        return all(item in (Any, object, ...) for item in get_args(hint))
    return any(hint is one for one in _UNDECLARED)


def _is_content(hint: Any) -> bool:
    if isinstance(hint, type):
        return issubclass(hint, (*BLOCKS, CallToolResult))
    inner = [kind for argument in get_args(hint) if argument is not ... for kind in members(argument)]
    return any(isinstance(kind, type) and issubclass(kind, BLOCKS) for kind in inner)


def _block(item: Any) -> Any:
    if isinstance(item, str):
        return _text(item)
    if isinstance(item, BLOCKS):
        return readable(item)
    raise OutputRefused(f"the tool returned {type(item).__name__} in a list of content blocks")


def _text(value: str) -> TextContent:
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise ToolError(f"The result cannot be sent as text: {error}") from None
    return TextContent(str.__str__(value))
