"""Hints that pydantic reads. This module needs pydantic; it is imported when a hint does."""

from collections.abc import Container, Sequence
from typing import Any

import msgspec
from pydantic import TypeAdapter, ValidationError
from pydantic.errors import PydanticUndefinedAnnotation, PydanticUserError

from mcpfleet.errors import RegistrationError
from mcpfleet.server.derived import DEFS, Definitions
from mcpfleet.server.schema import Schema, path_text
from mcpfleet.server.shapes import Direction, Misfit


class Foreign:
    """A hint that pydantic reads, held to its own JSON Schema first: pydantic alone would take "3" for an integer."""

    __slots__ = ("_schema", "adapter")

    def __init__(self, adapter: "TypeAdapter[Any]", schema: Schema) -> None:
        self.adapter = adapter
        self._schema = schema

    def read(self, value: Any, name: str) -> Any:
        """Read what conforms to the schema; a validator's own words are public, as they are everywhere in pydantic."""
        if not self._schema.accepts(value):
            raise Misfit(*self._schema.complaints(value, name))
        try:
            return self.adapter.validate_json(msgspec.json.encode(value))
        except ValidationError as error:
            found = error.errors(include_url=False, include_context=False, include_input=False)
            raise Misfit(*(f"{path_text([name, *one['loc']])}: {one['msg']}" for one in found)) from None

    def write(self, value: Any, *, stable: bool = False) -> Any:
        """Write by the hint; what does not match it shows when the output is checked against its schema."""
        if stable and isinstance(value, set | frozenset):
            value = sorted(value)
        return self.adapter.dump_python(value, mode="json", by_alias=True, warnings="none")


def adapt(hint: Any, where: str, direction: Direction, reason: str) -> Foreign:
    """Let pydantic read the hint; `RegistrationError`, giving `reason` too, if it cannot."""
    try:
        adapter = TypeAdapter(hint)
        schema = adapter.json_schema(mode=direction, ref_template=DEFS + "{model}")
    except (PydanticUserError, PydanticUndefinedAnnotation) as error:
        raise RegistrationError(f"{where}: {reason and reason + '; '}pydantic: {_first_line(error)}") from None
    return Foreign(adapter, Schema(schema, where))


def describe(shapes: Sequence[Foreign], direction: Direction, taken: Container[str]) -> tuple[list[Any], Definitions]:
    """The schema of each shape, and their definitions under names that are not `taken`."""
    prefix = ""
    inputs = [(number, direction, shape.adapter) for number, shape in enumerate(shapes)]
    schemas, document = TypeAdapter.json_schemas(inputs, ref_template=DEFS + "{model}")
    if any(name in taken for name in document.get("$defs", ())):
        prefix = "pydantic."
        schemas, document = TypeAdapter.json_schemas(inputs, ref_template=DEFS + prefix + "{model}")
    definitions = {prefix + name: definition for name, definition in document.get("$defs", {}).items()}
    return [schemas[number, direction] for number in range(len(shapes))], definitions


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]
