"""JSON Schemas derived from hints, in words that every client knows.

msgspec and pydantic write them. What clients look for and msgspec leaves out is added: the `type` beside an `enum`, and
the `format` of a time to send. Choices stand in the order of their author, in which people are shown them.
"""

import importlib
import typing
from collections.abc import Iterable, Sequence
from enum import Enum
from typing import Any, Final, Literal

from mcpfleet.protocol import schemas
from mcpfleet.server import hints, times
from mcpfleet.server.shapes import Direction, Native, Shape

DEFS: Final = "#/$defs/"

Definitions = dict[str, Any]
Orders = dict[frozenset[tuple[type, Any]], tuple[Any, ...]]

_ENUM_TYPES: Final = {str: "string", int: "integer"}


def describe(shapes: Sequence[Shape], direction: Direction = "validation") -> tuple[list[Any], Definitions]:
    """The schema of each shape, in order, and the definitions under `#/$defs/` that they refer to."""
    natives = [one for one in shapes if isinstance(one, Native)]
    others = [one for one in shapes if not isinstance(one, Native)]
    found, definitions = times.components([one.hint for one in natives], DEFS, formats=direction == "validation")
    orders = _orders(one.hint for one in natives)
    for schema in (*found, *definitions.values()):
        _order_enums(schema, orders)
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


def _orders(given: Iterable[Any]) -> Orders:
    """How the authors of these hints have ordered their choices; who orders the same differently follows the first."""
    orders: Orders = {}
    for hint in given:
        for choices in map(_choices, hints.parts(hint)):
            orders.setdefault(_typed(choices), choices)
    return orders


def _choices(part: Any) -> tuple[Any, ...]:
    if isinstance(part, type) and issubclass(part, Enum):
        return tuple(member.value for member in part)
    return typing.get_args(part) if typing.get_origin(part) is Literal else ()


def _order_enums(schema: Any, orders: Orders) -> None:
    """Undo the sorting of msgspec's."""
    for _, part in schemas.walk(schema):
        if "enum" in part:
            part["enum"] = list(orders.get(_typed(part["enum"]), part["enum"]))


def _typed(choices: Iterable[Any]) -> frozenset[tuple[type, Any]]:
    """The same for choices in any order; 1 is not "1", and True is not 1."""
    return frozenset((type(choice), choice) for choice in choices)


def _type_enums(schema: Any) -> None:
    for _, part in schemas.walk(schema):
        kinds = {type(value) for value in part.get("enum", ())}
        if len(kinds) == 1 and kinds <= _ENUM_TYPES.keys():
            part.setdefault("type", _ENUM_TYPES[kinds.pop()])
