"""msgspec's JSON Schemas, with the formats of times.

msgspec leaves the format out where a hint does not say whether the time has a zone. Whoever is to send a time needs the
word; on what is returned it would be a promise that a time without zone breaks. So it is added on demand: the schema is
walked beside msgspec's own description of the types.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

import msgspec
import msgspec.inspect as mi

_FORMATS: Final = {mi.DateTimeType: "date-time", mi.TimeType: "time"}
_ARRAYS: Final = (mi.ListType, mi.SetType, mi.FrozenSetType, mi.VarTupleType, mi.TupleType)
_CLASSES: Final = (mi.StructType, mi.DataclassType, mi.TypedDictType, mi.NamedTupleType)

Pair = tuple[mi.Type, Any]
"""A type, and the schema of it."""


def components(hints: Sequence[Any], prefix: str, *, formats: bool) -> tuple[list[Any], dict[str, Any]]:
    """The schema of each hint, and the definitions that they refer to after `prefix`; with or without `formats`."""
    infos = mi.multi_type_info(hints)
    classes = list(_classes(infos))
    documents, definitions = msgspec.json.schema_components(
        [*hints, *(one.cls for one in classes)], ref_template=prefix + "{name}"
    )
    pairs: list[Pair] = list(zip(infos, documents, strict=False))
    for one, reference in zip(classes, documents[len(hints) :], strict=True):
        pairs.extend(_fields(one, definitions[reference["$ref"].removeprefix(prefix)]))
    while formats and pairs:
        info, schema = pairs.pop()
        if type(info) in _FORMATS:
            schema.setdefault("format", _FORMATS[type(info)])
        pairs.extend(_inside(info, schema))
    return list(documents[: len(hints)]), definitions


def _classes(infos: Iterable[mi.Type]) -> Iterator[Any]:
    """Every class with fields that the types are made of, once."""
    seen = set()
    pending = list(infos)
    while pending:
        info = pending.pop()
        if isinstance(info, _CLASSES) and info.cls not in seen:
            seen.add(info.cls)
            yield info
            pending.extend(field.type for field in info.fields)
        elif not isinstance(info, _CLASSES):
            pending.extend(_parts(info))


def _parts(info: mi.Type) -> Iterable[mi.Type]:
    match info:
        case mi.Metadata():
            return (info.type,)
        case mi.UnionType():
            return info.types
        case mi.TupleType():
            return info.item_types
        case mi.DictType():
            return (info.key_type, info.value_type)
        case mi.CollectionType():
            return (info.item_type,)
    return ()


def _fields(info: Any, schema: dict[str, Any]) -> Iterator[Pair]:
    """The fields of a class, which is an object or (a named tuple, for one) an array."""
    if "properties" in schema:
        for field in info.fields:
            yield field.type, schema["properties"][field.encode_name]
    else:
        yield from zip((field.type for field in info.fields), schema.get("prefixItems", ()), strict=False)


def _inside(info: mi.Type, schema: Any) -> Iterable[Pair]:
    """The parts of a type, each with its schema; classes are not entered."""
    match info:
        case mi.Metadata():
            return [(info.type, schema)]
        case mi.UnionType():
            return [(part, option) for part in info.types for option in _options(schema) if _may_be(part, option)]
        case mi.TupleType():
            return zip(info.item_types, schema.get("prefixItems", ()), strict=False)
        case mi.DictType() if isinstance(schema.get("additionalProperties"), dict):
            return [(info.value_type, schema["additionalProperties"])]
        case mi.CollectionType() if "items" in schema:
            return [(info.item_type, schema["items"])]
    return ()


def _options(schema: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for option in schema.get("anyOf", ()):
        yield option
        yield from _options(option)


def _may_be(info: mi.Type, option: dict[str, Any]) -> bool:
    """Whether a member of a union has this schema: msgspec allows one member of each of these types."""
    info = info.type if isinstance(info, mi.Metadata) else info
    kind = "string" if type(info) in _FORMATS else "array" if isinstance(info, _ARRAYS) else "object"
    return option.get("type") == kind
