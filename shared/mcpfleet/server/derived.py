"""JSON Schemas derived from hints, in words that every client knows.

msgspec and pydantic write them. What clients look for and msgspec leaves out is added: the `type` beside an `enum`, and
the `format` of a time to send.
"""

import importlib
from collections.abc import Sequence
from typing import Any, Final

from mcpfleet.protocol import schemas
from mcpfleet.server import times
from mcpfleet.server.shapes import Direction, Native, Shape

DEFS: Final = "#/$defs/"

Definitions = dict[str, Any]

_ENUM_TYPES: Final = {str: "string", int: "integer"}


def describe(shapes: Sequence[Shape], direction: Direction = "validation") -> tuple[list[Any], Definitions]:
    """The schema of each shape, in order, and the definitions under `#/$defs/` that they refer to."""
    natives = [one for one in shapes if isinstance(one, Native)]
    others = [one for one in shapes if not isinstance(one, Native)]
    found, definitions = times.components([one.hint for one in natives], DEFS, formats=direction == "validation")
    if others:
        foreign = importlib.import_module("mcpfleet.server.foreign")
        more, more_definitions = foreign.describe(others, direction, taken=definitions)
        found += more
        definitions |= more_definitions
    for schema in (*found, *definitions.values()):
        _type_enums(schema)
    by_shape = dict(zip(map(id, (*natives, *others)), found, strict=True))
    return [by_shape[id(one)] for one in shapes], definitions


def document(schema: dict[str, Any], definitions: Definitions) -> dict[str, Any]:
    """A schema and its definitions as one document; a schema that only refers to a definition becomes that one."""
    name = str(schema.get("$ref", "")).removeprefix(DEFS)
    if name in definitions:
        schema = definitions[name] | {keyword: value for keyword, value in schema.items() if keyword != "$ref"}
        if not any(_refers(part, DEFS + name) for part in definitions.values()):
            definitions = {other: part for other, part in definitions.items() if other != name}
    return {**schema, "$defs": definitions} if definitions else schema


def _refers(schema: Any, target: str) -> bool:
    return any(part.get("$ref") == target for _, part in schemas.walk(schema))


def _type_enums(schema: Any) -> None:
    for _, part in schemas.walk(schema):
        kinds = {type(value) for value in part.get("enum", ())}
        if len(kinds) == 1 and kinds <= _ENUM_TYPES.keys():
            part.setdefault("type", _ENUM_TYPES[kinds.pop()])
