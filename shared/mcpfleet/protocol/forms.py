"""The flat schemas of forms: one field a property, of kinds that every client can show ("Elicitation", "Requested
Schema").

`form` puts fields together; a field is required unless it has a default or is `optional`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from mcpfleet.protocol.revisions import Revision

Format = Literal["email", "uri", "date", "date-time"]
Titles = Mapping[str, str]
"""The values of a choice, each with what people are shown of it."""


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a form."""

    schema: Mapping[str, Any]
    required: bool


def form(**fields: Field) -> dict[str, Any]:
    """The schema of a form with these fields, in this order."""
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {name: dict(field.schema) for name, field in fields.items()},
    }
    required = [name for name, field in fields.items() if field.required]
    return {**schema, "required": required} if required else schema


def text(
    *,
    format: Format | None = None,  # noqa: A002 - the schema's own word
    min_length: int | None = None,
    max_length: int | None = None,
    default: str | None = None,
    optional: bool = False,
    title: str | None = None,
    description: str | None = None,
) -> Field:
    """A line of text."""
    limits = {"format": format, "minLength": min_length, "maxLength": max_length}
    return _field({"type": "string", **limits}, default, optional, title, description)


def number(
    *,
    minimum: float | None = None,
    maximum: float | None = None,
    default: float | None = None,
    optional: bool = False,
    title: str | None = None,
    description: str | None = None,
) -> Field:
    """A number."""
    return _field({"type": "number", "minimum": minimum, "maximum": maximum}, default, optional, title, description)


def integer(
    *,
    minimum: int | None = None,
    maximum: int | None = None,
    default: int | None = None,
    optional: bool = False,
    title: str | None = None,
    description: str | None = None,
) -> Field:
    """A whole number."""
    return _field({"type": "integer", "minimum": minimum, "maximum": maximum}, default, optional, title, description)


def yes_no(
    *,
    default: bool | None = None,
    optional: bool = False,
    title: str | None = None,
    description: str | None = None,
) -> Field:
    """Yes or no."""
    return _field({"type": "boolean"}, default, optional, title, description)


def choice(
    values: Sequence[str] | Titles,
    *,
    default: str | None = None,
    optional: bool = False,
    title: str | None = None,
    description: str | None = None,
) -> Field:
    """One of some values; a mapping gives each a title."""
    options = {"oneOf": _titled(values)} if isinstance(values, Mapping) else {"enum": list(values)}
    return _field({"type": "string", **options}, default, optional, title, description)


def named_choice(
    values: Titles,
    *,
    default: str | None = None,
    optional: bool = False,
    title: str | None = None,
    description: str | None = None,
) -> Field:
    """One of some values, titled by `enumNames`, which clients of older revisions show; later ones still take it."""
    options = {"enum": list(values), "enumNames": list(values.values())}
    return _field({"type": "string", **options}, default, optional, title, description)


def choices(
    values: Sequence[str] | Titles,
    *,
    min_items: int | None = None,
    max_items: int | None = None,
    default: Sequence[str] | None = None,
    optional: bool = False,
    title: str | None = None,
    description: str | None = None,
) -> Field:
    """Any of some values; a mapping gives each a title."""
    items: dict[str, Any] = {"type": "string", "enum": list(values)}
    if isinstance(values, Mapping):
        items = {"anyOf": _titled(values)}
    limits = {"minItems": min_items, "maxItems": max_items}
    chosen = None if default is None else list(default)
    return _field({"type": "array", "items": items, **limits}, chosen, optional, title, description)


class Unshowable(ValueError):
    """A form needs a kind of field that a revision lacks."""


def dressed(schema: Mapping[str, Any], revision: Revision) -> dict[str, Any]:
    """A form as the revision has it: what it has no words for is said in older ones, or left out if it may be.

    Raises `Unshowable` for a required field that the revision lacks.
    """
    if revision.rich_forms:
        return dict(schema)
    required = list(schema.get("required", ()))
    properties: dict[str, Any] = {}
    for name, one in schema["properties"].items():
        if one["type"] != "array":
            properties[name] = _plain(one)
        elif name in required:
            raise Unshowable(f"{name}: this protocol version has no choice of several values")
    body: dict[str, Any] = {"type": "object", "properties": properties}
    return {**body, "required": required} if required else body


def _plain(one: Mapping[str, Any]) -> dict[str, Any]:
    kept = dict(one)
    if kept["type"] != "boolean":
        kept.pop("default", None)
    options = kept.pop("oneOf", None)
    if options is not None:
        kept["enum"] = [option["const"] for option in options]
        kept["enumNames"] = [option["title"] for option in options]
    return kept


def _titled(values: Titles) -> list[dict[str, str]]:
    return [{"const": value, "title": title} for value, title in values.items()]


def _field(
    schema: Mapping[str, Any], default: Any, optional: bool, title: str | None, description: str | None
) -> Field:
    told = {**schema, "title": title, "description": description, "default": default}
    return Field({key: value for key, value in told.items() if value is not None}, not optional and default is None)
