"""What a resource's function returns, as the contents that the client reads."""

from pathlib import Path
from typing import Any

from mcpfleet.errors import OutputRefused, ResourceNotFound
from mcpfleet.protocol import jsontext, media
from mcpfleet.protocol.messages.content import ResourceContents
from mcpfleet.protocol.messages.resources import ReadResourceResult
from mcpfleet.server.readable import readable
from mcpfleet.server.shapes import to_json
from mcpfleet.server.threads import Threads


async def contents(value: Any, uri: str, mime_type: str | None, threads: Threads) -> ReadResourceResult:
    """The result for a returned value.

    Text, bytes and files are contents of this URI, and so is each of several in a list that holds bytes, files or
    contents; contents that are ready pass; any other value is data, written as JSON. None means that nothing is at this
    URI: `ResourceNotFound`. Raises `OutputRefused` for what has no JSON form, or no client could read.
    """
    if value is None:
        raise ResourceNotFound(uri)
    if isinstance(value, ReadResourceResult):
        return readable(value)
    several = value if _is_several(value) else (value,)
    return ReadResourceResult(contents=tuple([await _content(each, uri, mime_type, threads) for each in several]))


def _is_several(value: Any) -> bool:
    kinds = (ResourceContents, bytes, Path)
    return isinstance(value, list | tuple) and any(isinstance(each, kinds) for each in value)


async def _content(value: Any, uri: str, mime_type: str | None, threads: Threads) -> ResourceContents:
    if isinstance(value, ResourceContents):
        return readable(value)
    if isinstance(value, Path):
        try:
            return await threads.run(ResourceContents.of, uri, value, mime_type)
        except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
            raise ResourceNotFound(uri) from None
    if isinstance(value, str):
        return ResourceContents.of(uri, str.__str__(value), mime_type or media.TEXT)
    if isinstance(value, bytes | bytearray | memoryview):
        return ResourceContents.of(uri, bytes(value), mime_type or media.BINARY)
    try:
        text = jsontext.dumps(to_json(value)).decode()
    except (TypeError, ValueError, RecursionError) as error:
        raise OutputRefused(f"the resource returned what has no JSON form: {error}") from error
    return ResourceContents.of(uri, text, mime_type or media.JSON)
