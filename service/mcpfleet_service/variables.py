"""Environment variables as fields of a dataclass, each annotated with what may stand there."""

import dataclasses
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Annotated, Any, Final, get_args, get_origin, get_type_hints

import msgspec

from mcpfleet.errors import SettingsError

PREFIX: Final = "MCPFLEET_"

# Kubernetes gives every pod the addresses of the services around it under names that Docker once chose: a service
# called `mcpfleet` or `mcpfleet-redis` must not be taken for settings.
_SERVICE_LINK: Final = re.compile(
    r"(\w+_)?(SERVICE_(HOST|PORT(_\w+)?)|PORT_[0-9]+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)=.*"
    r"|(\w+_)?PORT=(tcp|udp|sctp)://.*",
    re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Variable:
    """Where a field comes from: its variable without the prefix, what may stand there, and what it decides.

    `off` lets the word `none` switch it off. `unit` is one of the variable's in the field's. The value of a `secret` is
    never repeated in a message.
    """

    name: str
    allowed: str
    meaning: str
    off: bool = False
    unit: float = 1.0
    secret: bool = False

    @property
    def rule(self) -> str:
        """All that may stand there, in words."""
        return f"{self.allowed}, or `none`" if self.off else self.allowed

    def parse(self, text: str, hint: Any) -> Any:
        """The value that the text stands for; raises `SettingsError` that names the variable."""
        if self.off and text == "none":
            return None
        try:
            return self._convert(text, _required(hint))
        except msgspec.ValidationError:
            raise SettingsError(self._told(repr(text))) from None

    def complaint(self, value: Any, hint: Any) -> str | None:
        """What is wrong with a value that did not come from the environment, if anything is."""
        try:
            msgspec.convert(value, hint)
        except msgspec.ValidationError:
            return self._told(repr(value))
        return None

    def show(self, value: Any) -> str:
        """The text that stands for the value, empty if none does."""
        if value is None:
            return "none" if self.off else ""
        if isinstance(value, bool):
            return "true" if value else "false"
        if isinstance(value, tuple):
            return ",".join(value)
        return f"{value / self.unit:g}" if isinstance(value, float) else str(value)

    def _told(self, found: str) -> str:
        return f"{PREFIX}{self.name} must be {self.rule}" + ("" if self.secret else f", not {found}")

    def _convert(self, text: str, hint: Any) -> Any:
        if get_origin(hint) is tuple:
            return msgspec.convert([each.strip() for each in text.split(",")], hint)
        value = msgspec.convert(text, hint, strict=False)
        return value * self.unit if self.unit != 1.0 else value


def variables(settings: type) -> Iterator[tuple[str, Any, Variable]]:
    """Each field of the dataclass: its name, the type of its value, and its variable."""
    for name, hint in get_type_hints(settings, include_extras=True).items():
        kind, *extras = get_args(hint)
        (variable,) = (extra for extra in extras if isinstance(extra, Variable))
        rules = [extra for extra in extras if extra is not variable]
        yield name, Annotated[kind, *rules] if rules else kind, variable


def check(settings: object) -> None:
    """Hold settings that were made in code to the rules of their variables.

    Raises one `SettingsError` for all fields that hold what is not allowed.
    """
    problems = [
        problem
        for name, hint, variable in variables(type(settings))
        if (problem := variable.complaint(getattr(settings, name), hint)) is not None
    ]
    if problems:
        raise SettingsError("\n".join(problems))


def read(settings: type, environ: Mapping[str, str]) -> dict[str, Any]:
    """The fields that the environment gives; an empty variable counts as unset.

    Raises one `SettingsError` for all variables with our prefix that are unknown or hold what is not allowed.
    """
    given = dict(_ours(environ))
    values: dict[str, Any] = {}
    problems: list[str] = []
    known = []
    for name, hint, variable in variables(settings):
        known.append(variable.name)
        text = given.pop(variable.name, None)
        if text is not None:
            try:
                values[name] = variable.parse(text, hint)
            except SettingsError as refused:
                problems.append(str(refused))
    problems += [_unknown(name, known) for name in given]
    if problems:
        raise SettingsError("; ".join(problems))
    return values


def reference(settings: type) -> str:
    """The table of all variables, in Markdown."""
    defaults = {each.name: each.default for each in dataclasses.fields(settings)}
    lines = ["| variable | default | allowed | what it decides |", "| --- | --- | --- | --- |"]
    for name, _, variable in variables(settings):
        default = variable.show(defaults[name])
        shown = f"`{default}`" if default else ""
        lines.append(f"| `{PREFIX}{variable.name}` | {shown} | {variable.rule} | {variable.meaning} |")
    return "\n".join(lines) + "\n"


def _ours(environ: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    for name, text in environ.items():
        bare, value = name.removeprefix(PREFIX), text.strip()
        if bare != name and value and not _SERVICE_LINK.fullmatch(f"{bare}={value}"):
            yield bare, value


def _required(hint: Any) -> Any:
    """The type without `| None`: only the word `none` may switch a setting off."""
    kinds = get_args(hint)
    return next(kind for kind in kinds if kind is not type(None)) if type(None) in kinds else hint


def _unknown(name: str, known: list[str]) -> str:
    near = get_close_matches(name, known, n=1)
    return f"{PREFIX}{name} is not a setting" + (f"; did you mean {PREFIX}{near[0]}?" if near else "")
