"""Arguments described by a hand-written JSON Schema."""

from collections.abc import Mapping
from typing import Any

from mcpfleet.errors import RegistrationError
from mcpfleet.server.arguments import Keywords, refused
from mcpfleet.server.schema import Schema
from mcpfleet.server.signature import Signature


class HandWritten:
    """Arguments checked against the schema, and handed over as they are.

    The function takes them as keywords, or all in one parameter called `arguments`. Its hints are not consulted. An
    explicit null for what is not required, and cannot be null, leaves it out.
    """

    __slots__ = ("_names", "_required", "_schema", "_whole", "schema")

    def __init__(self, schema: Schema, signature: Signature, where: str) -> None:
        if schema.document.get("type") != "object":
            raise RegistrationError(f'{where}: the root of input_schema must have "type": "object"')
        self.schema = schema.document
        self._schema = schema
        self._required = frozenset(schema.document.get("required", ()))
        names = {one.name for one in signature.parameters}
        self._whole = names == {"arguments"} and not signature.open
        self._names = None if signature.open or self._whole else frozenset(names)
        if not self._whole:
            _match(schema.document, signature, where)

    def read(self, arguments: Mapping[str, Any]) -> Keywords:
        """Check the arguments; what is valid is handed over unchanged."""
        given = dict(arguments)
        if not self._schema.accepts(given):
            given = self._without_nulls(given)
            if not self._schema.accepts(given):
                raise refused(self._schema.complaints(given))
        if self._whole:
            return {"arguments": given}
        if self._names is None:
            return given
        return {name: value for name, value in given.items() if name in self._names}

    def _without_nulls(self, given: Keywords) -> Keywords:
        misfits = self._schema.misfits(given) - self._required
        return {name: value for name, value in given.items() if value is not None or name not in misfits}


def _match(document: dict[str, Any], signature: Signature, where: str) -> None:
    """Refuse a schema and a function that cannot fit together, before any call finds out."""
    required = document.get("required", [])
    for parameter in signature.parameters:
        if parameter.required and parameter.name not in required:
            raise RegistrationError(
                f"{where}: parameter {parameter.name!r} has no default, so input_schema must require it"
            )
    names = {parameter.name for parameter in signature.parameters}
    for name in document.get("properties", {}):
        if name not in names and not signature.open:
            raise RegistrationError(f"{where}: input_schema has the property {name!r}, but no parameter takes it")
    for name in signature.filled:
        if name in document.get("properties", {}):
            raise RegistrationError(f"{where}: input_schema has the property {name!r}, which the server fills")
