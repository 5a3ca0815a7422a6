"""Arguments that arrive as strings: those of prompts, and the variables of resource templates."""

import enum
import typing
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Final, Literal

from mcpfleet.server.arguments import Keywords, refused
from mcpfleet.server.hints import members
from mcpfleet.server.readings import read_text
from mcpfleet.server.shapes import Misfit, shape
from mcpfleet.server.signature import REQUIRED, Parameter, Signature

Reading = Callable[[str, str], Any]
"""A text and its name, read; raises `Misfit`."""


class Texts:
    """Strings by name, converted to what the function's hints want.

    A hint that takes strings gets the string as it came; any other gets what the string says as JSON: `int` takes "5",
    `list[int]` takes "[5]". What the function does not name is ignored.
    """

    __slots__ = ("_choices", "_defaults", "_open", "_readings", "_required", "names")

    def __init__(self, signature: Signature, where: str, required: Collection[str] = ()) -> None:
        """`required`: names that are, beside the parameters without a default."""
        self.names = tuple(one.name for one in signature.parameters)
        self._open = signature.open
        self._readings = {one.name: _reading(one, where) for one in signature.parameters}
        self._defaults = {one.name: one.default for one in signature.parameters}
        self._required = [name for name in required if name not in self._readings]
        self._choices = {one.name: choices(one.hint) for one in signature.parameters}

    def read(self, given: Mapping[str, Any]) -> Keywords:
        """The keywords for the function; raises `ArgumentsRefused`, which names what is missing or does not fit.

        An explicit null is as good as leaving an argument out.
        """
        keywords: Keywords = {}
        complaints: list[str] = []
        for name, value in given.items():
            if value is not None and not isinstance(value, str):
                complaints.append(f"{name}: must be a string")
            elif name not in self._readings and self._open and value is not None:
                keywords[name] = value
        for name, reading in self._readings.items():
            value = given.get(name)
            if isinstance(value, str):
                try:
                    keywords[name] = reading(value, name)
                except Misfit as misfit:
                    complaints.extend(misfit.complaints)
            elif value is None and self._defaults[name] is REQUIRED:
                complaints.append(f"{name}: required, but missing")
            elif value is None:
                keywords[name] = self._defaults[name]
        complaints += [f"{name}: required, but missing" for name in self._required if given.get(name) is None]
        if complaints:
            raise refused(complaints)
        return keywords

    def choices(self, name: str) -> Sequence[str]:
        """All that an argument can be, where its hint tells; else nothing."""
        return self._choices.get(name, ())


def choices(hint: Any) -> tuple[str, ...]:
    """The strings that a hint of literals or of an enumeration takes; empty for any other hint."""
    found: list[str] = []
    for member in members(hint):
        if typing.get_origin(member) is Literal:
            found += [value for value in typing.get_args(member) if isinstance(value, str)]
        elif isinstance(member, type) and issubclass(member, enum.Enum):
            found += [one.value for one in member if isinstance(one.value, str)]
    return tuple(found)


_PLAIN: Final = (str, Any, object)


def _reading(parameter: Parameter, where: str) -> Reading:
    if any(parameter.hint is one for one in _PLAIN):
        return _as_it_came
    one = shape(parameter.hint, f"{where}: parameter {parameter.name!r}")
    return lambda text, name: read_text(one, text, name)


def _as_it_came(text: str, _name: str) -> str:
    return text
