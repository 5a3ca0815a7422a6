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


def tool(body: dict[str, Any], revision: Revision) -> dict[str, Any]:
    """A tool as it is listed."""
    dropped = []
    if not revision.tool_annotations:
        dropped.append("annotations")
    if not revision.structured_output:
        dropped.append("outputSchema")
    if not revision.titles:
        dropped.append("title")
    if not revision.icons:
        dropped.append("icons")
    if not revision.content_meta:
        dropped.append(META)
    body = _without(body, *dropped)
    schema = body.get("outputSchema")
    if schema is not None and not revision.non_object_output and is_wrapped(schema):
        body["outputSchema"] = wrapped(schema)
    return body


def initialize(body: dict[str, Any], revision: Revision) -> None:
    """The handshake's answer."""
    for capability in ("completions", "extensions"):
        if not getattr(revision, capability):
            body["capabilities"].pop(capability, None)
    if not revision.titles:
        body["serverInfo"].pop("title", None)
    if not revision.icons:
        body["serverInfo"] = _without(body["serverInfo"], "icons", "description", "websiteUrl")


def wrapped(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The schema of an object whose one property has the given schema; references inside still find their targets."""
    inner = schemas.moved(schema, f"#/properties/{WRAPPER}")
    dialect = {"$schema": inner.pop("$schema")} if "$schema" in inner else {}
    return {**dialect, "type": "object", "properties": {WRAPPER: inner}, "required": [WRAPPER]}


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
