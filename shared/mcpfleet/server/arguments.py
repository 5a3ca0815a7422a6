"""The arguments of a call, from JSON to the keywords that the function is called with.

What the schema does not name is ignored, as FastAPI and the official SDKs do: hosts add arguments of their own.
"""

import contextlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import msgspec

from mcpfleet.errors import ArgumentsRefused, RegistrationError
from mcpfleet.protocol import jsontext
from mcpfleet.server.derived import describe
from mcpfleet.server.readings import read_leniently
from mcpfleet.server.schema import MAX_COMPLAINTS, Schema, shortened
from mcpfleet.server.shapes import Misfit, Native, Shape, shape
from mcpfleet.server.signature import Parameter, Signature

Keywords = dict[str, Any]


class Arguments(Protocol):
    """What a tool takes."""

    schema: dict[str, Any]
    """The input schema; its root is always `type: object`."""

    def read(self, arguments: Mapping[str, Any]) -> Keywords:
        """The keywords for the function; raises `ArgumentsRefused`, which names the fields."""
        ...


class Typed:
    """Arguments described by the function's own hints.

    An explicit null for an argument that has a default, and whose hint does not admit null, means the default.
    """

    __slots__ = ("_defaulting", "_foreign", "_parameters", "_shapes", "_struct", "schema")

    def __init__(self, signature: Signature, where: str) -> None:
        if signature.open:
            raise RegistrationError(f"{where}: **kwargs need a hand-written input_schema")
        self._parameters = signature.parameters
        self._shapes = {one.name: shape(one.hint, f"{where}: parameter {one.name!r}") for one in self._parameters}
        self._foreign = [(name, one) for name, one in self._shapes.items() if not isinstance(one, Native)]
        self._struct = _struct(self._parameters, self._shapes)
        self._defaulting = frozenset(
            one.name for one in self._parameters if not one.required and not _admits_null(self._shapes[one.name])
        )
        self.schema = Schema(_schema(self._parameters, self._shapes), f"{where}: its input schema").document

    def read(self, arguments: Mapping[str, Any]) -> Keywords:
        """Convert and check in one pass; only a call that fails it is looked at argument by argument."""
        if None in arguments.values():
            arguments = {
                name: value for name, value in arguments.items() if value is not None or name not in self._defaulting
            }
        try:
            keywords = msgspec.structs.asdict(msgspec.convert(arguments, self._struct, str_keys=True))
            for name, foreign in self._foreign:
                if name in arguments:
                    keywords[name] = foreign.read(arguments[name], name)
        except (msgspec.ValidationError, Misfit):
            return self._one_by_one(arguments)
        return keywords

    def _one_by_one(self, arguments: Mapping[str, Any]) -> Keywords:
        keywords: Keywords = {}
        complaints: list[str] = []
        for parameter in self._parameters:
            name = parameter.name
            if name not in arguments:
                if parameter.required:
                    complaints.append(f"{name}: required, but missing")
                keywords[name] = parameter.default
                continue
            try:
                keywords[name] = read_leniently(self._shapes[name], arguments[name], name)
            except Misfit as misfit:
                complaints.extend(misfit.complaints)
        if complaints:
            raise refused(complaints)
        return keywords


def refused(complaints: Sequence[str]) -> ArgumentsRefused:
    """The refusal for some complaints, of bounded length whatever was sent."""
    return ArgumentsRefused("\n".join(map(shortened, complaints[:MAX_COMPLAINTS])))


def _struct(parameters: tuple[Parameter, ...], shapes: Mapping[str, Shape]) -> type[msgspec.Struct]:
    """One struct with a field a parameter; what is foreign passes through it untouched."""
    fields: list[Any] = []
    for parameter in parameters:
        one = shapes[parameter.name]
        hint = one.hint if isinstance(one, Native) else Any
        if parameter.required:
            fields.append((parameter.name, hint))
        else:
            fields.append((parameter.name, hint, msgspec.field(default_factory=_constant(parameter.default))))
    return msgspec.defstruct("Arguments", fields, kw_only=True)


def _constant(value: Any) -> Callable[[], Any]:
    """A factory of one and the same value: what the function's own default would be."""
    return lambda: value


def _schema(parameters: tuple[Parameter, ...], shapes: Mapping[str, Shape]) -> dict[str, Any]:
    schemas, definitions = describe([shapes[one.name] for one in parameters])
    properties = {
        one.name: _described(one, shapes[one.name], schema) for one, schema in zip(parameters, schemas, strict=True)
    }
    schema: dict[str, Any] = {"type": "object", "properties": properties}
    required = [one.name for one in parameters if one.required]
    if required:
        schema["required"] = required
    if definitions:
        schema["$defs"] = definitions
    return schema


def _described(parameter: Parameter, one: Shape, schema: Any) -> dict[str, Any]:
    described: dict[str, Any] = dict(schema)
    if parameter.description:
        described.setdefault("description", parameter.description)
    if not parameter.required and (parameter.default is not None or _admits_null(one)):
        # A default that has no JSON form works all the same; only the schema cannot tell of it.
        with contextlib.suppress(TypeError, ValueError):
            described.setdefault("default", jsontext.loads(jsontext.dumps(one.write(parameter.default, stable=True))))
    return described


def _admits_null(one: Shape) -> bool:
    try:
        one.read(None, "")
    except Misfit:
        return False
    return True
