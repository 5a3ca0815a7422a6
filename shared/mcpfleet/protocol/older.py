"""What revisions before the newest do not know, taken away from or said otherwise in plain JSON values."""

from collections.abc import Mapping
from typing import Any, Final

from mcpfleet.protocol import jsontext, schemas
from mcpfleet.protocol.meta import META
from mcpfleet.protocol.revisions import Revision

WRAPPER: Final = "result"
"""The one property of the object around structured output that is no object itself."""


def is_wrapped(output_schema: Mapping[str, Any]) -> bool:
    """Whether output of this schema stands in an object of its own where a revision demands objects."""
    return output_schema.get("type") != "object"


def call(body: dict[str, Any], revision: Revision, output_schema: Mapping[str, Any] | None) -> None:
    """A tool's result: structured output becomes an object, or text where there is none of it."""
    if "structuredContent" in body:
        value = body["structuredContent"]
        if not revision.structured_output:
            del body["structuredContent"]
            body["content"] = body["content"] or [{"type": "text", "text": jsontext.dumps(value).decode()}]
        elif not revision.non_object_output and _is_wrapped_value(value, output_schema):
            body["structuredContent"] = {WRAPPER: value}
    body["content"] = [content(block, revision) for block in body["content"]]


def _is_wrapped_value(value: Any, output_schema: Mapping[str, Any] | None) -> bool:
    """Whether a value is wrapped as its schema is; without a schema, whether it is no object."""
    return not isinstance(value, dict) if output_schema is None else is_wrapped(output_schema)


def content(block: dict[str, Any], revision: Revision) -> dict[str, Any]:
    """One content block; a kind that the revision lacks becomes text."""
    kind = block["type"]
    if kind == "audio" and not revision.audio:
        return _as_text(block, f"[audio ({block['mimeType']}) left out: this protocol version has none]", revision)
    if kind == "resource_link" and not revision.resource_links:
        return _as_text(block, _link_text(block), revision)
    if kind == "resource" and not revision.content_meta:
        block = {**block, "resource": _without(block["resource"], META)}
    if kind == "resource_link" and not revision.icons:
        block = _without(block, "icons")
    return _described(block, revision)


def messages(body: dict[str, Any], revision: Revision) -> None:
    """A prompt's messages."""
    body["messages"] = [{**each, "content": content(each["content"], revision)} for each in body["messages"]]


def contents(body: dict[str, Any], revision: Revision) -> None:
    """What is at a URI."""
    body["contents"] = [_described(each, revision) for each in body["contents"]]


def tools(body: dict[str, Any], revision: Revision) -> None:
    """Tools as they are listed."""
    body["tools"] = [tool(each, revision) for each in body["tools"]]


def prompts(body: dict[str, Any], revision: Revision) -> None:
    """Prompts as they are listed."""
    body["prompts"] = [_prompt(each, revision) for each in body["prompts"]]


def resources(body: dict[str, Any], revision: Revision) -> None:
    """Resources as they are listed."""
    body["resources"] = [_listed(each, revision) for each in body["resources"]]


def templates(body: dict[str, Any], revision: Revision) -> None:
    """Resource templates as they are listed."""
    body["resourceTemplates"] = [_listed(each, revision) for each in body["resourceTemplates"]]


def tool(body: dict[str, Any], revision: Revision) -> dict[str, Any]:
    """A tool as it is listed."""
    body = _without(body, *_unknown(revision))
    if not revision.tool_annotations:
        body.pop("annotations", None)
    if not revision.structured_output:
        body.pop("outputSchema", None)
    schema = body.get("outputSchema")
    if schema is not None and not revision.non_object_output and is_wrapped(schema):
        body["outputSchema"] = wrapped(schema)
    return body


def initialize(body: dict[str, Any], revision: Revision) -> None:
    """The handshake's answer; extensions stay, since the set of capabilities is open in every revision."""
    if not revision.completions:
        body["capabilities"].pop("completions", None)
    if not revision.titles:
        body["serverInfo"].pop("title", None)
    if not revision.icons:
        body["serverInfo"] = _without(body["serverInfo"], "icons", "description", "websiteUrl")


def wrapped(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The schema of an object whose one property has the given schema; references inside still find their targets."""
    inner = schemas.moved(schema, f"#/properties/{WRAPPER}")
    dialect = {"$schema": inner.pop("$schema")} if "$schema" in inner else {}
    return {**dialect, "type": "object", "properties": {WRAPPER: inner}, "required": [WRAPPER]}


def _prompt(body: dict[str, Any], revision: Revision) -> dict[str, Any]:
    if "arguments" in body and not revision.titles:
        body = {**body, "arguments": [_without(argument, "title") for argument in body["arguments"]]}
    return _without(body, *_unknown(revision))


def _listed(body: dict[str, Any], revision: Revision) -> dict[str, Any]:
    return _described(_without(body, *_unknown(revision)), revision)


def _unknown(revision: Revision) -> list[str]:
    """What may be said of any listed thing, and the revision has no words for."""
    known = {"title": revision.titles, "icons": revision.icons, META: revision.content_meta}
    return [name for name, is_known in known.items() if not is_known]


def _described(block: dict[str, Any], revision: Revision) -> dict[str, Any]:
    """The block with only those descriptions of itself that the revision knows."""
    if not revision.content_meta:
        block = _without(block, META)
    annotations = block.get("annotations")
    if annotations is not None and not revision.last_modified:
        block = {**block, "annotations": _without(annotations, "lastModified")}
    return block


def _as_text(block: dict[str, Any], text: str, revision: Revision) -> dict[str, Any]:
    kept: dict[str, Any] = {name: block[name] for name in ("annotations", META) if name in block}
    return _described({"type": "text", "text": text, **kept}, revision)


def _link_text(link: dict[str, Any]) -> str:
    text = f"{link.get('title') or link['name']}: {link['uri']}"
    return f"{text}\n{link['description']}" if link.get("description") else text


def _without(value: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: part for name, part in value.items() if name not in names}
