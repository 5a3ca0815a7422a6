"""Frontmatter: YAML that is plain data. This module needs PyYAML; it is imported when skills are added.

A host compares what it is told with what it reads out of the file itself, so both must come to the same. PyYAML alone
reads by YAML 1.1, to which `no` is false and `12:30` is 750; here it only parses, and values are what the core
schema of YAML 1.2 makes of them, which is all that JSON has. Anchors, aliases and tags are refused.
"""

import math
import re
from collections.abc import Iterator
from itertools import takewhile
from typing import Any, Final

import yaml
from yaml.events import CollectionEndEvent as End
from yaml.events import Event, MappingStartEvent, NodeEvent, ScalarEvent, SequenceStartEvent

MAX_DEPTH: Final = 32
MAX_CHARACTERS: Final = 65_536

_CONSTANTS: Final[dict[str, bool | None]] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_DECIMAL: Final = re.compile(r"[-+]?[0-9]+")
_OF_BASE: Final = re.compile(r"0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT: Final = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_NOT_FINITE: Final = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")
_FIRST_LINE: Final = 2
"""The line of the file on which its frontmatter begins."""


def read(text: str) -> dict[str, Any]:
    """The object that a frontmatter is; `ValueError`, with the line of the file, for what is no plain data."""
    if len(text) > MAX_CHARACTERS:
        raise ValueError(f"the frontmatter has more than {MAX_CHARACTERS} characters")
    try:
        events = [event for event in yaml.parse(text, Loader=yaml.SafeLoader) if isinstance(event, NodeEvent | End)]
    except yaml.MarkedYAMLError as error:
        raise _refusal(error.problem, error.problem_mark) from None
    except yaml.YAMLError as error:
        raise ValueError(str(error).partition("\n")[0]) from None
    if not events or not isinstance(events[0], MappingStartEvent):
        raise ValueError("the frontmatter must be names with their values")
    rest = iter(events)
    value: dict[str, Any] = _value(next(rest), rest, 1)
    for event in rest:
        raise _refusal("a second document begins", event.start_mark)
    return value


def _value(event: Event, rest: Iterator[Event], depth: int) -> Any:
    """The value that begins with this event; what else belongs to it is taken from the rest."""
    if depth > MAX_DEPTH:
        raise _refusal(f"nested deeper than {MAX_DEPTH} levels", event.start_mark)
    match event:
        case ScalarEvent(anchor=None, tag=None):
            return _scalar(event)
        case SequenceStartEvent(anchor=None, tag=None):
            return [_value(item, rest, depth + 1) for item in _until_end(rest)]
        case MappingStartEvent(anchor=None, tag=None):
            return _mapping(rest, depth + 1)
    raise _refusal("anchors, aliases and tags are no plain data", event.start_mark)


def _mapping(rest: Iterator[Event], depth: int) -> dict[str, Any]:
    value: dict[str, Any] = {}
    for event in _until_end(rest):
        name = _value(event, rest, depth)
        if not isinstance(name, str):
            raise _refusal("a name must be text; put it into quotes", event.start_mark)
        if name in value:
            raise _refusal(f"{name!r} is there already", event.start_mark)
        value[name] = _value(next(rest), rest, depth)
    return value


def _until_end(rest: Iterator[Event]) -> Iterator[Event]:
    """The event that each item of a collection begins with; the others of the item must be taken meanwhile."""
    return takewhile(lambda event: not isinstance(event, End), rest)


def _scalar(event: ScalarEvent) -> Any:
    text = event.value
    if event.style is not None:  # in quotes, or a block
        return text
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    try:
        return _number(text)
    except ValueError:
        raise _refusal(f"JSON has no number {text[:20]}", event.start_mark) from None


def _number(text: str) -> int | float | str:
    """The number that a plain text is, or else the text; `ValueError` for a number that JSON does not have."""
    if _DECIMAL.fullmatch(text):
        return int(text)
    if _OF_BASE.fullmatch(text):
        return int(text, base=0)
    if _NOT_FINITE.fullmatch(text) or (_FLOAT.fullmatch(text) and math.isinf(float(text))):
        raise ValueError
    return float(text) if _FLOAT.fullmatch(text) else text


def _refusal(problem: str | None, mark: Any) -> ValueError:
    where = "" if mark is None else f"line {mark.line + _FIRST_LINE}: "
    return ValueError(f"{where}{problem}")
