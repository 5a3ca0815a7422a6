"""The positions in a JSON Schema where a schema stands: a walk that mistakes no data for a schema and follows no
reference."""

from collections.abc import Iterable, Iterator, Mapping
from copy import deepcopy
from typing import Any, Final

Path = tuple[str, ...]

_ONE: Final = frozenset(
    {
        "additionalItems",
        "additionalProperties",
        "contains",
        "contentSchema",
        "else",
        "if",
        "items",
        "not",
        "propertyNames",
        "then",
        "unevaluatedItems",
        "unevaluatedProperties",
    }
)
_MANY: Final = frozenset({"allOf", "anyOf", "items", "oneOf", "prefixItems"})
_NAMED: Final = frozenset(
    {"$defs", "definitions", "dependencies", "dependentSchemas", "patternProperties", "properties"}
)


def walk(schema: Any) -> Iterator[tuple[Path | None, dict[str, Any]]]:
    """Every schema in the schema, itself included, with its path if only `properties` lead there, else None."""
    rest: list[tuple[Path | None, Any]] = [((), schema)]
    while rest:
        path, node = rest.pop()
        if isinstance(node, dict):
            yield path, node
            rest.extend(_below(path, node))


def _below(path: Path | None, schema: dict[str, Any]) -> Iterable[tuple[Path | None, Any]]:
    for keyword, value in schema.items():
        if keyword in _NAMED and isinstance(value, dict):
            for name, part in value.items():
                yield (*path, name) if keyword == "properties" and path is not None else None, part
        elif keyword in _MANY and isinstance(value, list):
            for part in value:
                yield None, part
        elif keyword in _ONE:
            yield None, value


def moved(schema: Mapping[str, Any], pointer: str) -> dict[str, Any]:
    """A copy that may stand at `pointer` ("#/…") of another schema: its references to itself follow it there.

    A schema with an `$id` is a document of its own wherever it stands, so its references stay.
    """
    copy: dict[str, Any] = deepcopy(dict(schema))
    rest: list[Any] = [copy]
    while rest:
        node = rest.pop()
        if isinstance(node, dict) and "$id" not in node:
            reference = node.get("$ref")
            if isinstance(reference, str) and (reference == "#" or reference.startswith("#/")):
                node["$ref"] = pointer + reference[1:]
            rest.extend(part for _, part in _below(None, node))
    return copy
