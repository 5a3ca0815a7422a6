"""What a form may hold: fields that every client can show ("Elicitation", section "Requested Schema")."""

from collections.abc import Mapping
from typing import Any, Final, get_args

from mcpfleet.protocol.forms import Format

FORMATS: Final = frozenset(get_args(Format))
_DESCRIPTION: Final = ("title", "description", "default")
KEYWORDS: Final[Mapping[str, frozenset[str]]] = {
    "string": frozenset({"type", "minLength", "maxLength", "format", "enum", "enumNames", "oneOf", *_DESCRIPTION}),
    "number": frozenset({"type", "minimum", "maximum", *_DESCRIPTION}),
    "integer": frozenset({"type", "minimum", "maximum", *_DESCRIPTION}),
    "boolean": frozenset({"type", *_DESCRIPTION}),
    "array": frozenset({"type", "minItems", "maxItems", "items", *_DESCRIPTION}),
}
"""What a field of each type may say."""


def fault(schema: Mapping[str, Any]) -> str | None:
    """Why a schema is no form, if it is none: its root is an object, and every property is of one of the kinds."""
    properties = schema.get("properties")
    if schema.get("type") != "object" or not isinstance(properties, Mapping):
        return "a form is an object with properties"
    for name, one in properties.items():
        if (words := _fault_of_field(one)) is not None:
            return f"{name}: {words}"
    absent = [name for name in schema.get("required", ()) if name not in properties]
    return f"{absent[0]}: required, but there is no such field" if absent else None


def _fault_of_field(one: Any) -> str | None:
    kind = one.get("type") if isinstance(one, Mapping) else None
    keywords = KEYWORDS.get(kind) if isinstance(kind, str) else None
    if keywords is None:
        return "a field is a string, number, integer, boolean or choice"
    unknown = sorted(one.keys() - keywords)
    if unknown:
        return f"a field of a form has no {', '.join(unknown)}"
    if kind == "array":
        return None if _is_choice(one.get("items")) else "a field with several values is a choice"
    return _fault_of_text(one) if kind == "string" else None


def _fault_of_text(one: Mapping[str, Any]) -> str | None:
    if one.get("format", "email") not in FORMATS:
        return f"a field of a form has no format {one['format']!r}"
    if "enum" in one and "oneOf" in one:
        return "a choice is of plain values, or of titled ones"
    if not _are_plain(one.get("enum", ("",))) or not _are_titled(one.get("oneOf", ({"const": "", "title": ""},))):
        return "a choice has values, which are strings; a titled one has `const` and `title`"
    if "enumNames" in one and (not _are_plain(one["enumNames"]) or len(one["enumNames"]) != len(one.get("enum", ()))):
        return "a choice has as many names as values"
    return None


def _is_choice(items: Any) -> bool:
    if not isinstance(items, Mapping):
        return False
    return _are_titled(items.get("anyOf")) or (items.get("type") == "string" and _are_plain(items.get("enum")))


def _are_plain(values: Any) -> bool:
    return isinstance(values, list | tuple) and len(values) > 0 and all(isinstance(value, str) for value in values)


def _are_titled(options: Any) -> bool:
    return (
        isinstance(options, list | tuple)
        and len(options) > 0
        and all(
            isinstance(option, Mapping) and _are_plain((option.get("const"), option.get("title"))) for option in options
        )
    )
