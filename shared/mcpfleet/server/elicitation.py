"""Forms for the user, from a type or a schema, and what comes back as that type."""

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Generic, Protocol, TypeVar

from mcpfleet.errors import AnswerRefused, RegistrationError
from mcpfleet.protocol import formrules
from mcpfleet.protocol.messages.elicitation import Action
from mcpfleet.server.derived import DEFS, describe, document
from mcpfleet.server.readings import read_leniently
from mcpfleet.server.schema import Schema
from mcpfleet.server.shapes import Misfit, Shape, shape

T = TypeVar("T")

_NULL: Final = {"type": "null"}


@dataclass(frozen=True, slots=True)
class Elicited(Generic[T]):
    """What the user did with a form: `accept` comes with what was filled in, `decline` and `cancel` with None."""

    action: Action
    content: T | None

    @property
    def accepted(self) -> bool:
        """Whether the user filled the form in and sent it."""
        return self.action == "accept"


class Form(Protocol):
    """A form, ready to be shown, and how to read what was filled in."""

    document: dict[str, Any]

    def read(self, content: Mapping[str, Any]) -> Any:
        """What was filled in; `AnswerRefused` if it does not fit."""
        ...


def form_of(schema: Any) -> Form:
    """The form that a type or a schema describes; `ValueError` for what no client could show."""
    try:
        return _Described(schema) if isinstance(schema, Mapping) else _typed(schema)
    except RegistrationError as error:
        raise ValueError(str(error)) from None


class _Described:
    """A form from a schema, filled in as plain JSON values."""

    def __init__(self, schema: Mapping[str, Any]) -> None:
        self._schema = Schema(schema, "a form")
        self.document = _flat(self._schema.document)

    def read(self, content: Mapping[str, Any]) -> dict[str, Any]:
        filled = dict(content)
        if not self._schema.accepts(filled):
            raise AnswerRefused("\n".join(self._schema.complaints(filled)))
        return filled


class _Typed:
    """A form from a type, filled in as values of that type."""

    def __init__(self, kind: Any) -> None:
        self._shape: Shape = shape(kind, "a form")
        [schema], definitions = describe([self._shape])
        whole = document(schema, definitions)
        found = {name: _simple(one, definitions) for name, one in whole.get("properties", {}).items()}
        self._nullable = [name for name, (_, nullable) in found.items() if nullable]
        properties = {name: one for name, (one, _) in found.items()}
        required = [name for name in whole.get("required", ()) if name not in self._nullable]
        body: dict[str, Any] = {"type": whole.get("type"), "properties": properties}
        self.document = _flat({**body, "required": required} if required else body)

    def read(self, content: Mapping[str, Any]) -> Any:
        filled = {**dict.fromkeys(self._nullable_and_required(), None), **content}
        try:
            return read_leniently(self._shape, filled, "content")
        except Misfit as misfit:
            raise AnswerRefused("\n".join(misfit.complaints)) from None

    def _nullable_and_required(self) -> list[str]:
        """What was not filled in and has no default of its own is null."""
        properties = self.document["properties"]
        return [name for name in self._nullable if "default" not in properties[name]]


@functools.lru_cache(maxsize=256)
def _typed(kind: Any) -> _Typed:
    return _Typed(kind)


def _flat(schema: dict[str, Any]) -> dict[str, Any]:
    fault = formrules.fault(schema)
    if fault is not None:
        raise RegistrationError(f"no form can be made of this: {fault}")
    for name, one in schema["properties"].items():
        if "default" in one and not Schema(one, f"a form: {name}").accepts(one["default"]):
            raise RegistrationError(f"no form can be made of this: {name}: the default is no value of the field")
    return schema


def _simple(one: dict[str, Any], definitions: Mapping[str, Any]) -> tuple[dict[str, Any], bool]:
    """A property in the words that forms have, and whether it may be null: whoever leaves it out means that."""
    one = _resolved(one, definitions)
    variants = [_resolved(variant, definitions) for variant in one.get("anyOf", ())]
    nullable = _NULL in variants
    kept = [variant for variant in variants if variant != _NULL]
    if nullable and len(kept) == 1:
        one = {**kept[0], **{key: value for key, value in one.items() if key != "anyOf"}}
    if "const" in one:
        one = {**one, "enum": [one["const"]], "type": "string"}
    if isinstance(one.get("items"), dict):
        items = _resolved(one["items"], definitions)
        one = {**one, "items": {key: items[key] for key in ("type", "enum", "anyOf") if key in items}}
    known = formrules.KEYWORDS.get(one.get("type", ""), frozenset(one))
    if one.get("format") not in formrules.FORMATS:
        known -= {"format"}
    return {key: value for key, value in one.items() if key in known and value is not None}, nullable


def _resolved(schema: Any, definitions: Mapping[str, Any]) -> dict[str, Any]:
    name = str(schema.get("$ref", "")).removeprefix(DEFS)
    if name not in definitions:
        return dict(schema)
    return {**definitions[name], **{key: value for key, value in schema.items() if key != "$ref"}}
