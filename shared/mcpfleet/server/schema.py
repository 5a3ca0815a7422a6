"""What a JSON Schema must be before it is served, and values checked against it.

Only the 2020-12 dialect is served. A `$ref` stays inside its document, so that no schema can make a process fetch
anything, and size is bounded, so that none can exhaust it (MCP: basic/index, JSON Schema Usage).
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Any, Final

from jsonschema_rs import Draft202012Validator, ValidationError, ValidationErrorKind

from mcpfleet.errors import RegistrationError
from mcpfleet.protocol import jsontext, schemas

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
MAX_DEPTH: Final = 64
"""Levels of nesting, objects and arrays alike: a peer that bounds the depth of JSON must be able to read the list."""
MAX_SUBSCHEMAS: Final = 10_000
MAX_COMPLAINTS: Final = 10
MAX_COMPLAINT: Final = 300
"""Characters of one complaint."""


class Schema:
    """A JSON Schema that passed every check, compiled; `document` is a private copy of what was given.

    Raises `RegistrationError`, whose message begins with `where`, for anything that cannot be served.
    """

    __slots__ = ("_validator", "document")

    def __init__(self, document: Mapping[str, Any], where: str) -> None:
        self.document: dict[str, Any] = _copied(document, where)
        _inspect(self.document, where)
        try:
            self._validator = Draft202012Validator(self.document, offline=True)
        except ValidationError as error:
            place = path_text(error.instance_path)
            raise RegistrationError(
                f"{where} is no valid JSON Schema: {place and place + ': '}{error.message}"
            ) from None

    def accepts(self, value: Any) -> bool:
        """Whether a JSON value conforms."""
        return self._validator.is_valid(value)

    def misfits(self, value: Mapping[str, Any]) -> frozenset[str]:
        """The names of the members of an object in which something does not conform."""
        errors = islice(self._validator.iter_errors(value), MAX_SUBSCHEMAS)
        return frozenset(str(error.instance_path[0]) for error in errors if error.instance_path)

    def complaints(self, value: Any, *path: str) -> list[str]:
        """What is wrong with the JSON value that stands at `path`; at most ten, each naming the field."""
        return [_complaint(error, path) for error in islice(self._validator.iter_errors(value), MAX_COMPLAINTS)]


def path_text(path: Sequence[str | int]) -> str:
    """A path into a value as people write it: `days[0].name`."""
    text = ""
    for step in path:
        text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else step
    return text


def shortened(complaint: str) -> str:
    """A complaint of bounded length: it quotes the value, which may be large."""
    return complaint if len(complaint) <= MAX_COMPLAINT else complaint[: MAX_COMPLAINT - 1] + "…"


def _copied(document: Mapping[str, Any], where: str) -> dict[str, Any]:
    if not isinstance(document, Mapping):
        raise RegistrationError(f"{where} must be a JSON object, not {type(document).__name__}")
    try:
        copy: dict[str, Any] = jsontext.loads(jsontext.dumps(dict(document)), max_depth=MAX_DEPTH)
    except jsontext.TooDeep:
        raise RegistrationError(f"{where} nests deeper than {MAX_DEPTH} levels") from None
    except jsontext.NotJson as error:
        raise RegistrationError(f"{where} is not JSON: {error}") from None
    return copy


def _inspect(document: dict[str, Any], where: str) -> None:
    for count, (_, schema) in enumerate(schemas.walk(document), 1):
        if count > MAX_SUBSCHEMAS:
            raise RegistrationError(f"{where} holds more than {MAX_SUBSCHEMAS} subschemas")
        dialect = schema.get("$schema", DIALECT)
        if not isinstance(dialect, str) or dialect.removesuffix("#") != DIALECT:
            raise RegistrationError(f"{where} declares the dialect {dialect!r}; only {DIALECT} is served")
        for keyword in ("$ref", "$dynamicRef"):
            target = schema.get(keyword, "#")
            if not isinstance(target, str) or not target.startswith("#"):
                raise RegistrationError(f"{where} has {keyword} {target!r}; it must stay in the document (`#…`)")


def _complaint(error: ValidationError, root: Iterable[str]) -> str:
    path = [*root, *error.instance_path]
    message = error.message
    if isinstance(error.kind, ValidationErrorKind.Required):
        path.append(error.kind.property)
        message = "required, but missing"
    place = path_text(path)
    return shortened(f"{place}: {message}" if place else message)
